/**
 * The page of sessions in a real browser, from its file: what is searched, filtered and done with keys, what hostile text
 * cannot do to its index, and what axe-core says of it and of a session's page.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { run } from "../support/binary.ts"
import { AXE, Browser, CHROMIUM, type Page } from "../support/browser.ts"
import { HOSTILE } from "../support/hostile-page.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const DESKTOP = { width: 1200, height: 900 }
/** Paragraphs that are higher than a window. */
const FILLER = Array.from({ length: 60 }, (_, n) => `Paragraph ${n} of another thing.`)
const PHONE = { width: 360, height: 780, phone: true }

describe.skipIf(CHROMIUM === null)("in Chromium (needs chromium)", () => {
  const machine = new Machine()
  const pages = join(machine.dataHome, "pages")
  let browser: Browser
  let address = ""
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    browser = await Browser.start()
    const shop = join(machine.root, "shop")
    mkdirSync(shop)
    const long = (word: string): string =>
      [...FILLER, `A ${word} sleeps.`, ...FILLER, `Mend ${word}s, no other ${word}.`, ...FILLER].join("\n\n")
    const failing = {
      tool: "Bash",
      input: { command: "npm test -- okapi" },
      output: "Exit code 1\nTypeError: stripes of undefined",
      isError: true,
    }
    const zoo = machine.session({ cwd: shop })
    zoo.turn("Mend the okapi enclosure", [failing], "The enclosure is mended: getStripeCount was wrong.")
    zoo.boundary().summary("All about okapis").turn("And | a | table", [], "| a | |\n|---|---|\n| 1 | 2 |")
    const sea = machine.session()
    sea.turn("Why do whales sing?", [], "Whales sing in the deep; the rate limit of songs is low.")
    sea.turn("How long are the limits of their songs?", [], "They have no limit at any rate.")
    const far = machine.session()
    for (let n = 0; n < 12; n++) far.turn(`Question ${n}`, [], FILLER.slice(0, 5 + n).join("\n\n"))
    far.turn("Tell me of them", [], long("bandicoot"))
    far.turn("A short one", [], "Yes.").turn("The last", [], "No.")
    const odd = machine.session()
    for (const text of ["__proto__ constructor toString", ...HOSTILE])
      odd.turn(`Marsupial: ${text}`, [], text).think(text)
    odd.turn("\u2028 wallaby \u2029 </script><script>window.__pwned = 1</script>", [])
    odd.turn("Change the quoll", [
      { tool: "Write", input: { file_path: join(machine.cwd, "deep/quoll.ts"), content: "1" }, output: "ok" },
    ])
    Object.assign(ids, { zoo: zoo.session, sea: sea.session, far: far.session })
    for (const session of [zoo, sea, far, odd]) session.flush()
    await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(await run(["open", "-a"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
      code: 0,
      stderr: "",
    })
    address = pathToFileURL(join(pages, "index.html")).href
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    machine[Symbol.dispose]()
  })

  const opened = async (view: Parameters<Browser["page"]>[0] = DESKTOP, hash = ""): Promise<Page> => {
    const page = await browser.page(view)
    await page.open(address + hash)
    return page
  }
  const shown = (page: Page, selector: string): Promise<string[]> =>
    page.ask(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].filter((one) => one.checkVisibility()).map((one) => one.textContent)`,
    )
  /** Undefined while the page is being left. */
  const place = (page: Page): Promise<string | undefined> =>
    page.ask<string>("document.readyState === 'complete' ? location.href : ''").catch(() => undefined)
  const leads = (page: Page, to: string): Promise<void> =>
    until(async () => (await place(page))?.includes(to) === true, 20_000, `the way to ${to}`)
  const counted = (page: Page): Promise<string> => page.ask("document.getElementById('counted').textContent")

  /** Types it as somebody would, and waits until what is told of it is no longer what it was. */
  async function searched(page: Page, words: string): Promise<{ told: string; hits: string[] }> {
    await page.ask("document.getElementById('search').focus(); document.getElementById('search').select()")
    await page.ask(
      "document.querySelector('.nothing').hidden = true; window.drawn = 0; new MutationObserver(() => drawn++).observe(document.getElementById('results'), { childList: true }); 1",
    )
    await page.type(words)
    const isDone = (): Promise<boolean> =>
      page.ask("drawn > 0 || [...document.querySelectorAll('.nothing')].some((one) => one.checkVisibility())")
    await until(isDone, 20_000, `what was found of ${words}`)
    return { told: await counted(page), hits: await shown(page, ".result") }
  }

  test("words of prompts, answers, commands and errors are found, whatever the titles say", async () => {
    const page = await opened()
    const told = async (words: string): Promise<string> => (await searched(page, words)).told
    expect(await told("singing whale")).toBe("1 turn in 1 session")
    expect(await told("stripe count")).toBe("1 turn in 1 session")
    // All words in one turn; the last may be a beginning.
    expect(await told("rate limi")).toBe("2 turns in 1 session")
    expect(await told("rate okapi")).toBe("")
    expect(await shown(page, ".nothing")).toEqual([expect.stringContaining("Nothing says “rate okapi”")])
    expect(await told('"rate limit"')).toBe("1 turn")
    const { hits } = await searched(page, "undefined stripes")
    expect(hits).toHaveLength(1)
    expect(hits[0]).toMatch(/^error.*shop.*turn 1.*TypeError: stripes of undefined/s)
    expect(await shown(page, ".result mark")).toEqual(["stripes", "undefined"])
    expect((await searched(page, "npm okapi")).hits[0]).toMatch(/^command/)
    const [file] = (await searched(page, "quoll.ts")).hits
    expect(file).toMatch(/^file/)
    expect(file).toEndWith("deep/quoll.ts")
    expect(file).not.toContain(machine.cwd)
    expect(
      (await searched(page, "mend enclosure")).hits.map((hit) => /prompt|answer|session/.exec(hit)?.[0]),
    ).toEqual(expect.arrayContaining(["prompt"]))
    expect(page.complaints).toEqual([])
    // The index, and no other address.
    expect(
      page.requests
        .filter((one) => one !== address)
        .every((one) => /\/pages\/search\/[cdt]-[^/]+\.js$/.test(one)),
    ).toBe(true)
  })

  test("a hit leads to its turn, with the words marked, and back to what was searched", async () => {
    const page = await opened()
    await searched(page, "undefined stripes")
    await page.press("Enter")
    expect(await page.ask("document.activeElement.className")).toBe("result")
    const target = await page.ask<string>("document.activeElement.href")
    // The page may be gone before the key is up again.
    await page.press("Enter").catch(() => undefined)
    await leads(page, ids["zoo"]!)
    expect(await page.ask("document.querySelector(':target').id")).toBe(/#(ctx-\w+)/.exec(target)![1]!)
    await until(
      () => page.ask("[...(CSS.highlights.get('found') ?? [])].map(String).join(' ').includes('stripes')"),
      20_000,
      "the words to be marked",
    )
    expect(await page.ask("document.querySelector('.call.failed').open")).toBe(true)
    await page.ask("setTimeout(() => history.back())")
    await leads(page, address)
    await until(async () => (await shown(page, ".result")).length === 1, 20_000, "the hit again")
    expect(await page.ask("document.getElementById('search').value")).toBe("undefined stripes")
  })

  /** Whether the word that was gone to is seen, and where it is from the top of the window. */
  const HERE = `(([range]) => {
    const { top, left, width } = range.getBoundingClientRect()
    return { word: range.toString(), isSeen: width > 0 && left >= 0 && left < innerWidth && top > 60 && top < innerHeight, top }
  })([...CSS.highlights.get("here")])`
  const isThere = (page: Page): Promise<boolean> =>
    page.ask<boolean>(`Boolean(CSS.highlights.get("here")) && ${HERE}.isSeen`).catch(() => false)
  const current = (page: Page): Promise<string[]> =>
    page.ask("[...document.querySelectorAll('.contents [aria-current]')].map((one) => one.textContent)")

  test.each([
    ["desktop", DESKTOP],
    ["phone", PHONE],
  ] as const)(
    "a hit far down in a long answer is seen, and so is each that Enter goes to: %s",
    async (_, view) => {
      const page = await opened(view)
      await searched(page, "bandicoot")
      await page.press("Enter")
      await page.press("Enter").catch(() => undefined)
      await leads(page, ids["far"]!)
      await until(() => isThere(page), 20_000, "the word to be seen")
      expect(await current(page)).toEqual(["13Tell me of them"])
      await page.ask("document.getElementById('search').focus(); scrollTo(0, 0)")
      await page.type("bandicoot")
      // Typed just now.
      const told: string[] = []
      for (const key of ["Enter", "Enter", "Enter", "Enter"]) {
        await page.press(key)
        await until(() => isThere(page), 20_000, "the word to be seen")
        told.push(await page.ask("document.getElementById('found').textContent"))
      }
      expect(told).toEqual(["1 of 3", "2 of 3", "3 of 3", "1 of 3"])
      await page.press("Escape")
      await page.ask("document.getElementById('search').focus()")
      await page.type("nothing of that")
      const found = "document.getElementById('found').textContent"
      await until(async () => (await page.ask(found)) === "0 matches", 20_000, "no match")
      expect(page.complaints).toEqual([])
    },
  )

  test("the contents mark the turn of the address, also where it cannot come to the top", async () => {
    const page = await browser.page(DESKTOP)
    const file = pathToFileURL(join(pages, `${ids["far"]}.html`)).href
    await page.open(file)
    const turns = await page.ask<string[]>(
      "[...document.querySelectorAll('main > .turn')].map((one) => one.id)",
    )
    const names = await page.ask<string[]>(
      "[...document.querySelectorAll('.contents a')].map((one) => one.textContent)",
    )
    expect(turns).toHaveLength(15)
    for (const n of [3, 0, 7, 13, 14, 12]) {
      await page.open("about:blank")
      await page.open(`${file}#${turns[n]}`)
      await until(
        async () => (await current(page)).join() === names[n],
        20_000,
        `turn ${n} to be marked in the contents`,
      )
    }
  })

  test("filters, and what they leave is summed up", async () => {
    const page = await opened()
    expect(await shown(page, ".session b")).toHaveLength(4)
    const choose = (name: string, n: number): Promise<unknown> =>
      page.ask(
        `(() => { const one = document.querySelector('[data-choice=${name}]'); one.value = one.options[${n}].value; one.dispatchEvent(new Event('change')) })()`,
      )
    // The most frequent first, behind all of them.
    await choose("project", 2)
    expect(await shown(page, ".session b")).toEqual(["Mend the okapi enclosure"])
    expect(await counted(page)).toMatch(/^1 session · [\d.]+K tokens/)
    expect(await shown(page, ".day .sum")).toEqual([expect.stringMatching(/^1 session · /)])
    expect((await searched(page, "whales")).told).toBe("")
    await page.ask("document.getElementById('clear').click()")
    await until(
      async () => (await counted(page)) === "1 turn in 1 session",
      20_000,
      "the hit of another project",
    )
    await page.press("Escape")
    await until(async () => (await shown(page, ".session b")).length === 4, 20_000, "the list")
    await page.ask("document.getElementById('errors').click()")
    expect(await shown(page, ".session b")).toEqual(["Mend the okapi enclosure"])
    // The address says it.
    const again = await opened(DESKTOP, await page.ask<string>("location.hash"))
    expect(await shown(again, ".session b")).toEqual(["Mend the okapi enclosure"])
    expect(page.complaints).toEqual([])
  })

  test("keys: j and k move, Enter opens, / searches, Escape leaves", async () => {
    const page = await opened()
    const at = (): Promise<string> =>
      page.ask("document.activeElement.getAttribute('href') ?? document.activeElement.id")
    const order = await page.ask<string[]>(
      "[...document.querySelectorAll('.session')].map((one) => one.getAttribute('href'))",
    )
    for (const [key, place] of [
      ["j", 0],
      ["j", 1],
      ["j", 2],
      ["j", 3],
      ["j", 3],
      ["k", 2],
    ] as const) {
      await page.press(key)
      expect(await at()).toBe(order[place]!)
    }
    await page.press("/")
    expect(await at()).toBe("search")
    expect(await page.ask("document.getElementById('search').value")).toBe("")
    await page.type("jk")
    expect(await page.ask("document.getElementById('search').value")).toBe("jk")
    await page.press("Escape")
    expect(
      await page.ask("[document.activeElement.localName, document.getElementById('search').value]"),
    ).toEqual(["body", ""])
    await page.press("j")
    // The page may be gone before the key is up again.
    await page.press("Enter").catch(() => undefined)
    await leads(page, order[0]!)
  })

  test("hostile text is text in the index, its shards and its hits; nothing of it runs", async () => {
    for (const name of readdirSync(join(pages, "search"))) {
      const script = readFileSync(join(pages, "search", name), "utf8")
      expect(script).toMatch(/^ctxbridge\("[^"]*",\[.*\]\)\n$/)
      expect(script).not.toMatch(/[<\u2028\u2029]/)
    }
    const page = await opened()
    for (const words of ["__proto__ constructor", "marsupial script", "wallaby", "onerror"]) {
      const { hits } = await searched(page, words)
      expect(hits.length).toBeGreaterThan(0)
    }
    expect(await page.ask("typeof window.__pwned")).toBe("undefined")
    expect(
      await page.ask(
        "({}).marsupial === undefined && document.querySelectorAll('#results script, #results img').length",
      ),
    ).toBe(0)
    expect(page.complaints).toEqual([])
    // Markup may name no script, not even one that lies beside the page.
    writeFileSync(join(pages, "planted.js"), "window.__pwned = 1")
    const planted = join(pages, "planted.html")
    writeFileSync(
      planted,
      readFileSync(join(pages, "index.html"), "utf8").replace(
        "<main",
        '<script src="planted.js"></script><main',
      ),
    )
    const other = await browser.page(DESKTOP)
    await other.open(pathToFileURL(planted).href)
    expect(await other.ask("typeof window.__pwned")).toBe("undefined")
    expect(other.complaints.join()).toContain("Content Security Policy")
  })

  test("without its index the page says so, and still lists", async () => {
    const alone = join(machine.root, "alone.html")
    writeFileSync(alone, readFileSync(join(pages, "index.html")))
    const page = await browser.page(DESKTOP)
    await page.open(pathToFileURL(alone).href)
    await searched(page, "whales")
    expect(await shown(page, ".nothing")).toEqual([expect.stringContaining("cannot be read")])
    await page.press("Escape")
    await until(async () => (await shown(page, ".session")).length === 4, 20_000, "the list")
  })

  test("a phone's width is enough, with and without hits", async () => {
    const page = await opened(PHONE)
    expect(await page.ask("document.documentElement.scrollWidth")).toBe(PHONE.width)
    expect((await searched(page, "okapi")).hits.length).toBeGreaterThan(0)
    expect(await page.ask("document.documentElement.scrollWidth")).toBe(PHONE.width)
  })

  test.each([320, 360, 390, 800])("nothing that can be chosen is cut at %i pixels", async (width) => {
    const page = await browser.page({ ...PHONE, width })
    for (const file of ["index.html", `${ids["far"]}.html`]) {
      await page.open(pathToFileURL(join(pages, file)).href)
      const tools = await page.ask<[string, boolean][]>(
        `[...document.querySelectorAll('.tools :is(input, select, button):not([hidden])')].map((one) => {
          const { left, right, width } = one.getBoundingClientRect()
          const around = one.parentElement.getBoundingClientRect()
          return [one.textContent || one.id, width > 20 && left >= 0 && right <= Math.min(innerWidth, around.right + 0.5) && one.scrollWidth <= one.clientWidth + 1]
        })`,
      )
      expect(tools.length).toBeGreaterThanOrEqual(4)
      expect(tools.filter(([, isWhole]) => !isWhole)).toEqual([])
      expect(await page.ask("document.documentElement.scrollWidth")).toBe(width)
    }
  })

  test("pinned sessions are filtered and summed up as others are, and stand in the chart of their days", async () => {
    using pinning = new Machine()
    const cli = (...args: string[]) => run(args, { env: pinning.env, cwd: pinning.cwd })
    const [first, second] = [pinning.session(), pinning.session()]
    first.turn("A pinned okapi").flush()
    const error = { tool: "Bash", input: { command: "make" }, output: "Exit code 2", isError: true }
    second.turn("A whale", [error]).flush()
    await cli("import")
    expect(await cli("tag", first.session, "--pin")).toMatchObject({ code: 0 })
    expect(await cli("open", "-a")).toMatchObject({ code: 0, stderr: "" })
    const page = await browser.page(DESKTOP)
    await page.open(pathToFileURL(join(pinning.dataHome, "pages", "index.html")).href)
    expect(page.complaints).toEqual([])
    const days = "[...document.querySelectorAll('.timeline title')].map((one) => one.textContent)"
    expect(await page.ask<string[]>(days)).toEqual([expect.stringMatching(/: 2 sessions, 2 turns$/)])
    expect(await shown(page, ".day h2")).toEqual([
      expect.stringMatching(/^Pinned 1 session · /),
      expect.stringMatching(/ 1 session · /),
    ])
    await page.ask("document.getElementById('errors').click()")
    expect(await shown(page, ".session b")).toEqual(["A whale"])
    expect(await counted(page)).toMatch(/^1 session/)
    expect((await searched(page, "okapi")).hits).toEqual([])
    await page.ask("document.getElementById('clear').click()")
    await until(async () => (await shown(page, ".result")).length > 0, 20_000, "the hit of the pinned one")
    expect(page.complaints).toEqual([])
  })

  test("each list has its own page, which searches and is led back to whatever is opened next", async () => {
    using lists = new Machine()
    const cli = async (...args: string[]): Promise<string> =>
      JSON.parse((await run([...args, "--json"], { env: lists.env, cwd: lists.cwd })).stdout).index
    const other = join(lists.root, "other")
    mkdirSync(other)
    const [here, there] = [lists.session(), lists.session({ cwd: other })]
    here.turn("An okapi here").flush()
    there.turn("A numbat there").flush()
    const imported = () => run(["import"], { env: lists.env, cwd: lists.cwd })
    await imported()
    const all = await cli("open", "-a")
    const since = await cli("open", "-a", "--since", "2020-01-01")
    const agent = await cli("open", "-a", "--agent", "claude")
    const project = await cli("open")
    expect(new Set([all, since, agent, project, await cli("open", "-p", other)]).size).toBe(5)
    expect([all, project]).toEqual([await cli("open", "-a"), await cli("open")])
    // What is searched is written anew.
    here.turn("And a wombat").flush()
    await imported()
    expect(await cli("open")).toBe(project)
    for (const [list, titles] of [
      [all, ["A numbat there", "An okapi here"]],
      [since, ["A numbat there", "An okapi here"]],
      [project, ["An okapi here"]],
    ] as const) {
      const page = await browser.page(DESKTOP)
      await page.open(pathToFileURL(list).href)
      expect((await shown(page, ".session b")).toSorted()).toEqual([...titles])
      expect((await searched(page, "wombat")).hits).toHaveLength(1)
      await page.press("Enter")
      await page.press("Enter").catch(() => undefined)
      await leads(page, here.session)
      const up = await page.ask<string>("document.querySelector('.up').getAttribute('href')")
      expect(up).toBe("index.html")
      expect(page.complaints).toEqual([])
    }
  })

  const noAxe = existsSync(AXE) ? "" : " (axe-core is not installed: npm run setup)"
  describe.skipIf(noAxe !== "")(`axe-core finds nothing${noAxe}`, () => {
    const views = [
      ["light", DESKTOP],
      ["dark", { ...DESKTOP, dark: true }],
      ["phone", PHONE],
      ["dark phone", { ...PHONE, dark: true }],
    ] as const

    test.each(views)("in the list, hits, an empty answer and sessions: %s", async (_, view) => {
      const list = await opened(view)
      expect(await list.violations()).toEqual([])
      expect((await searched(list, "limit")).hits.length).toBeGreaterThan(0)
      expect(await list.violations()).toEqual([])
      await searched(list, "okapi whales")
      expect(await list.violations()).toEqual([])
      for (const id of [ids["zoo"], ids["sea"]]) {
        const page = await browser.page(view)
        await page.open(pathToFileURL(join(pages, `${id}.html`)).href)
        expect(await page.violations()).toEqual([])
        await page.ask("document.getElementById('unfold').click()")
        expect(await page.violations()).toEqual([])
        await page.close()
      }
    })
  })
})
