/** The page of a file, made by the compiled binary, in a real browser: a line is chosen, and beside it stands why. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { run } from "../support/binary.ts"
import { AXE, Browser, CHROMIUM, type Page } from "../support/browser.ts"
import { HOSTILE } from "../support/hostile-page.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { Worked } from "../support/worked-file.ts"

setDefaultTimeout(limit(120_000))

describe.skipIf(CHROMIUM === null)("in Chromium (needs chromium)", () => {
  const machine = new Machine()
  const name = "src/<b>zebra</b> & kite.ts"
  let browser: Browser
  let address = ""

  beforeAll(async () => {
    browser = await Browser.start()
    const file = new Worked(join(machine.cwd, name))
    const lines = Array.from({ length: 200 }, (_, n) => `export const stripe${n} = ${n}`)
    // A carriage return, a NUL or a lone half of a character would make another file of it.
    const hostile = HOSTILE.map((text) => text.replace(/[\r\0]/g, "").toWellFormed())
    machine
      .session()
      .turn("Draw the zebra", [file.write(`${[...lines, ...hostile].join("\n")}\n`)], "It has **stripes**.")
      .turn(`Mend it ${HOSTILE.slice(0, 12).join(" ")}`, [
        file.edit("export const stripe3 = 3", `export const stripe3 = "${"long ".repeat(100)}"`),
      ])
      .flush()
    file.content = file.content!.replace("export const stripe9 = 9", "export const byHand = 9")
    file.save()
    const options = { env: machine.env, cwd: machine.cwd }
    const folder = join(machine.root, "pages")
    expect(await run(["import"], options)).toMatchObject({ code: 0 })
    expect(await run(["open", "--output", folder], options)).toMatchObject({ code: 0, stderr: "" })
    const [page] = readdirSync(folder).filter((one) => one.startsWith("file-"))
    address = pathToFileURL(join(folder, page!)).href
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    machine[Symbol.dispose]()
  })

  const why = (page: Page): Promise<string> => page.ask("document.querySelector('.whys').innerText.trim()")
  const at = (page: Page): Promise<string> => page.ask("document.querySelector('i.at')?.id ?? ''")

  /** While one page makes way for another, neither can be asked. */
  const isTrue = (page: Page, expression: string): Promise<boolean> =>
    page.ask<boolean>(expression).catch(() => false)

  test("a click on a line tells why it is there, and its link leads to the turn", async () => {
    const page = await browser.page({ width: 1280, height: 800 })
    await page.open(address)
    expect(await page.ask("document.querySelector('h1').textContent")).toBe("b> & kite.ts")
    expect(await page.seen("article")).toBe(0)
    await page.ask("document.getElementById('1').click()")
    expect(await why(page)).toMatch(/^2 Mar 2026[\s\S]*Draw the zebra[\s\S]*It has stripes\.[\s\S]*lines 1–3/)
    await page.ask("document.getElementById('4').click()")
    expect(await why(page)).toContain("Mend it <script>")
    await page.ask("document.getElementById('10').click()")
    expect(await why(page)).toBe("No archived session is known to have written this line.")
    await page.ask("document.getElementById('1').click()")
    await page.ask("document.querySelector('article.chosen h2 a').click()")
    await until(
      () =>
        isTrue(page, "document.querySelector(':target .prompt')?.textContent.trim() === 'Draw the zebra'"),
      5000,
      "the turn",
    )
    await page.ask("document.querySelector('.changed a').click()")
    await until(() => isTrue(page, "document.querySelector('.run') !== null"), 5000, "the file")
    expect(page.complaints).toEqual([])
  })

  test("by keys: j and k, Enter, Escape; an address leads to a line", async () => {
    const page = await browser.page({ width: 1280, height: 800 })
    await page.open(address)
    for (const key of ["j", "j", "j", "j", "k"]) await page.press(key)
    expect(await at(page)).toBe("3")
    expect(await page.seen("article")).toBe(0)
    await page.press("Enter")
    expect(await why(page)).toContain("Draw the zebra")
    await page.press("j")
    expect(await why(page)).toContain("Mend it")
    await page.press("Escape")
    expect(await page.seen("article")).toBe(0)
    for (const hash of ["150", "L150"]) {
      await page.open("about:blank")
      await page.open(`${address}#${hash}`)
      expect(await at(page)).toBe("150")
      expect(await page.ask("document.querySelector('i.at').getBoundingClientRect().top")).toBeGreaterThan(0)
      expect(await page.ask("document.querySelector('i.at').getBoundingClientRect().top")).toBeLessThan(800)
    }
  })

  test("hostile text runs nothing, loads nothing, and each line is a line", async () => {
    const page = await browser.page({ width: 1280, height: 800 })
    await page.open(address)
    for (const id of await page.ask<string[]>(
      "[...document.querySelectorAll('.run')].map((one) => one.querySelector('i').id)",
    ))
      await page.ask(`document.getElementById('${id}').click()`)
    expect(await page.ask("typeof window.__pwned")).toBe("undefined")
    expect(page.complaints).toEqual([])
    expect(page.requests).toEqual([address])
    expect(await page.ask("document.querySelectorAll('main script, main iframe, main img').length")).toBe(0)
    const text = readFileSync(join(machine.cwd, name), "utf8")
    expect(await page.ask("document.querySelectorAll('.run i').length")).toBe(text.split("\n").length - 1)
    expect(await page.ask("document.documentElement.scrollWidth")).toBe(1280)
  })

  test("without its script all turns stand there, and lines are links to them", async () => {
    const page = await browser.page({ width: 1280, height: 800, script: false })
    await page.open(address)
    expect(await page.seen("article")).toBe(2)
    expect(await page.seen(".run .from a")).toBeGreaterThan(2)
    expect(await page.seen(".hint, .close, .keys")).toBe(0)
  })

  const noAxe = existsSync(AXE) ? "" : " (axe-core is not installed: npm run setup)"
  test.skipIf(noAxe !== "").each([{}, { dark: true }, { width: 360, phone: true }])(
    `axe-core finds nothing, with and without a line that is chosen: %p${noAxe}`,
    async (view) => {
      const page = await browser.page({ width: 1280, height: 800, ...view })
      await page.open(address)
      expect(await page.violations()).toEqual([])
      await page.ask("document.getElementById('1').click()")
      expect(await page.violations()).toEqual([])
    },
  )

  test("on a phone why comes up from below and goes again; dark; printed with all turns", async () => {
    const page = await browser.page({ width: 360, height: 740, phone: true, dark: true })
    await page.open(address)
    expect(await page.ask("document.documentElement.scrollWidth")).toBe(360)
    expect(await page.ask("getComputedStyle(document.body).backgroundColor")).toBe("rgb(22, 24, 27)")
    expect(await page.seen(".whys")).toBe(0)
    await page.ask("document.getElementById('1').click()")
    expect(await page.ask("document.querySelector('.whys').getBoundingClientRect().bottom")).toBe(740)
    await page.ask("document.querySelector('.close').click()")
    expect(await page.seen(".whys")).toBe(0)
    await page.send("Emulation.setEmulatedMedia", { media: "print" })
    expect(await page.seen("article")).toBe(2)
    expect(await page.seen("#theme, .close, .keys")).toBe(0)
  })
})
