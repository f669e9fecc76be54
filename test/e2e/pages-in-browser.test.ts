/** Pages in a real browser: what a hostile transcript cannot do, and what readers can. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { anchorOf } from "../../src/cli/pages/html/turn-html.ts"
import { Browser, CHROMIUM } from "../support/browser.ts"
import { HOSTILE } from "../support/hostile-page.ts"
import { Inside, run } from "../support/inside.ts"
import { until } from "../support/machine.ts"
import { lookAtPictures } from "../support/pictures.ts"
import { PLACES } from "../support/poison.ts"

describe.skipIf(CHROMIUM === null)("in Chromium (needs chromium)", () => {
  const machine = new Inside()
  let browser: Browser
  let address = ""
  let handles: string[] = []

  beforeAll(async () => {
    browser = await Browser.start()
    const session = machine.session()
    for (const [n, text] of HOSTILE.entries()) {
      session.turn(`Prompt ${n}: ${text}`, [], `Answer ${n}\n\n${text}`).think(text)
    }
    for (const [n, { plant }] of Object.values(PLACES).entries()) plant(session, HOSTILE[n % HOSTILE.length]!)
    session.turn("Mend the zebra", [
      {
        tool: "Edit",
        input: { file_path: "/src/zebra.ts", old_string: "a\nb", new_string: "a\nc" },
        output: "ok",
      },
      {
        tool: "Bash",
        input: { command: "npm test" },
        output: "Exit code 3\nTypeError: stripes",
        isError: true,
      },
    ])
    lookAtPictures(session)
    session.boundary().summary("All about zebras").turn("Go on").flush()
    const options = { env: machine.env, cwd: machine.cwd }
    await run(["import"], options)
    const shown = await run(["show", session.session, "--json"], options)
    handles = (JSON.parse(shown.stdout) as { turns: { handle: string }[] }).turns.map(({ handle }) => handle)
    const file = join(machine.cwd, "page.html")
    expect(await run(["open", session.session, "--output", file], options)).toMatchObject({ code: 0 })
    address = pathToFileURL(file).href
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    machine[Symbol.dispose]()
  })

  test("hostile text runs nothing, loads nothing, breaks nothing, and all of it is there", async () => {
    const page = await browser.page({ width: 1200, height: 900 })
    await page.open(address)
    await page.ask("document.getElementById('unfold').click()")
    // A second drawing, with everything unfolded.
    await page.ask(
      "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(1))))",
    )
    expect(await page.ask("typeof window.__pwned")).toBe("undefined")
    expect(page.complaints).toEqual([])
    expect(page.requests).toEqual([address])
    expect(await page.seen(".turn")).toBe(handles.length)
    expect(
      await page.ask("document.querySelectorAll('main script, main iframe, main style, main meta').length"),
    ).toBe(0)
    expect(await page.ask("document.body.textContent")).toContain("<script>window.__pwned = 1</script>")
    const strange =
      "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]"
    expect(await page.ask(`/${strange}/.test(document.body.textContent)`)).toBe(false)
    expect(await page.ask("document.querySelector('main img').naturalWidth")).toBe(1)
    // Nothing makes the page wider than the window.
    expect(await page.ask("document.documentElement.scrollWidth")).toBe(1200)
  })

  test("the page of `stats` as well: text of the archive is text, and the grid and the tables are drawn", async () => {
    const file = join(machine.cwd, "stats.html")
    const options = { env: machine.env, cwd: machine.cwd }
    expect(await run(["stats", "--html", "--output", file], options)).toMatchObject({ code: 0 })
    const page = await browser.page({ width: 360, height: 700, phone: true })
    await page.open(pathToFileURL(file).href)
    expect(await page.ask("typeof window.__pwned")).toBe("undefined")
    expect(page.complaints).toEqual([])
    expect(page.requests).toEqual([pathToFileURL(file).href])
    expect(await page.seen("svg rect")).toBeGreaterThan(24)
    expect(await page.ask("document.body.textContent")).toContain(
      "/src/</script><script>window.__pwned = 1</script>",
    )
    expect(await page.ask("document.querySelectorAll('main script, iframe, img, body style').length")).toBe(0)
    expect(await page.ask("document.documentElement.scrollWidth")).toBe(360)
    const shown = "tr.item:not(.off)"
    const rows = await page.seen(shown)
    await page.ask("document.querySelector('[data-filter=error]').click()")
    expect(await page.seen(shown)).toBeLessThan(rows)
    expect(await page.seen(`${shown}[data-kind=error]`)).toBe(await page.seen(shown))
  })

  test("search and filters hide what is not meant, and Enter goes to the next place", async () => {
    const page = await browser.page({ width: 1200, height: 900 })
    await page.open(address)
    await page.press("/")
    await page.type("stripes")
    await until(
      () => page.ask("document.getElementById('found').textContent === '1 match'"),
      5000,
      "the search",
    )
    expect(await page.seen(".turn")).toBe(1)
    expect(await page.ask("CSS.highlights.get('found').size")).toBeGreaterThan(0)
    expect(await page.ask("document.querySelector('.call:not(.off)').open")).toBe(false)
    await page.press("Enter")
    expect(await page.ask("document.querySelector('.call:not(.off)').open")).toBe(true)
    await page.press("Escape")
    expect(await page.seen(".turn")).toBe(handles.length)
    await page.ask("document.querySelector('[data-filter=file]').click()")
    expect(
      await page.ask(
        "[...document.querySelectorAll('.item:not(.off, .item *)')].every((one) => one.dataset.kind.includes('file'))",
      ),
    ).toBe(true)
    await page.ask("document.querySelector('[data-filter=file]').click()")
    await page.ask("document.querySelector('[data-filter=tool]').click()")
    // What a call has read is shown with the call.
    expect(await page.seen(".call img")).toBe(1)
    await page.ask("document.querySelector('[data-filter=tool]').click()")
    await page.ask("document.querySelector('[data-filter=prompt]').click()")
    expect(await page.seen(".prompt")).toBeGreaterThan(HOSTILE.length)
    expect(await page.seen(".answer")).toBe(0)
    expect(page.complaints).toEqual([])
  })

  test("a handle in the address leads to its turn, also as it is written elsewhere", async () => {
    const page = await browser.page({ width: 1200, height: 900 })
    const handle = handles.at(-2)!
    for (const hash of [anchorOf(handle), handle]) {
      await page.open("about:blank")
      await page.open(`${address}#${hash}`)
      const id = JSON.stringify(anchorOf(handle))
      await until(
        () =>
          page.ask(
            `(({ top }) => top >= 0 && top < 300)(document.getElementById(${id}).getBoundingClientRect())`,
          ),
        5000,
        "the turn to be in view",
      )
      expect(await page.ask("document.querySelector(':target').id")).toBe(anchorOf(handle))
    }
  })

  test("without its script the page can be read and unfolded", async () => {
    const page = await browser.page({ width: 1200, height: 900, script: false })
    await page.open(address)
    expect(await page.seen(".turn")).toBe(handles.length)
    expect(await page.seen("#search")).toBe(0)
    await page.ask("document.querySelector('.call:not([open]) > summary').click()")
    expect(await page.seen(".call[open] .body")).toBeGreaterThan(0)
  })

  test("dark where the system is, light on demand; narrow enough for a phone; printed with its changes", async () => {
    const background = "getComputedStyle(document.body).backgroundColor"
    const dark = await browser.page({ width: 1200, height: 900, dark: true })
    await dark.open(address)
    const before = await dark.ask<string>(background)
    await dark.ask("document.getElementById('theme').click()")
    const after = await dark.ask<string>(background)
    expect([before, after]).toEqual(["rgb(22, 24, 27)", "rgb(253, 253, 252)"])
    const phone = await browser.page({ width: 390, height: 844, phone: true })
    await phone.open(address)
    expect(await phone.ask("document.documentElement.scrollWidth")).toBe(390)
    expect(await phone.seen(".meter, .contents ol")).toBe(0)
    await phone.ask("document.querySelector('.contents label').click()")
    expect(await phone.seen(".contents ol")).toBe(1)
    await phone.ask("document.querySelectorAll('details').forEach((one) => (one.open = false))")
    await phone.send("Emulation.setEmulatedMedia", { media: "print" })
    expect(
      await phone.ask("document.querySelector('.diff ins').getBoundingClientRect().height"),
    ).toBeGreaterThan(0)
    expect(await phone.seen("#search, .copy")).toBe(0)
  })
})
