/**
 * What a real terminal shows, sign by sign: at 60, 80 and 120 columns, with and without colour, in UTF-8 and ASCII.
 *
 * CTXBRIDGE_TEST_UPDATE_GOLDEN=1 writes the files anew.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { screenPast } from "../support/screen-past.ts"
import { limit } from "../support/slowness.ts"
import { noTmux, TmuxScreen } from "../support/tmux-screen.ts"

setDefaultTimeout(limit(120_000))

const GOLDEN = join(import.meta.dir, "..", "golden", "screens")
const UPDATE = process.env["CTXBRIDGE_TEST_UPDATE_GOLDEN"] === "1"
/** More than any of them needs. */
const ROWS = 120

const COLOURS = { color: {}, plain: { NO_COLOR: "1" } } as const
const LOCALES = { utf8: { LC_ALL: "C.UTF-8" }, ascii: { LC_ALL: "C" } } as const
const SCREENS = [60, 80, 120].flatMap((cols) =>
  Object.entries(COLOURS).flatMap(([look, colour]) =>
    Object.entries(LOCALES).map(([signs, locale]) => ({
      name: `${cols}-${look}-${signs}`,
      cols,
      isPlain: look === "plain",
      isAscii: signs === "ascii",
      env: { ...locale, ...colour },
    })),
  ),
)

let machine: Machine
let commands: readonly string[]

beforeAll(async () => {
  machine = new Machine()
  const session = await screenPast(machine)
  using views = machine.views()
  const { handle } = views
    .query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE session = ? ORDER BY seq LIMIT 1")
    .get(session.session)!
  commands = [
    "search retry",
    "sessions",
    `show ctx:${handle}`,
    `show ctx:${handle} --around 3`,
    "files retry",
    "status",
  ]
})

afterAll(() => machine[Symbol.dispose]())

describe.skipIf(noTmux !== undefined)(`screens${noTmux === undefined ? "" : ` (${noTmux})`}`, () => {
  test.concurrent.each(SCREENS)("$name", async ({ name, cols, isPlain, isAscii, env }) => {
    using screen = new TmuxScreen(machine, { cols, rows: ROWS }, { CTXBRIDGE_PAGER: "cat", ...env })
    let shown = ""
    for (const command of commands) {
      const text = await screen.ran(`${binary()} ${command}`)
      // What the terminal wrapped itself would be longer than it is wide.
      for (const line of screen.text().split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(cols)
      shown += `$ ctxbridge ${command.replace(/ctx:\w+/, "HANDLE")}\n${stable(text)}\n\n`
    }
    if (isAscii) expect(shown.replace(/語言|🛡️/gu, "")).toMatch(/^[\n\x20-\x7e␛]*$/)
    if (isPlain) expect(shown).not.toMatch(/␛\[[\d;]*m/)
    const file = join(GOLDEN, `${name}.txt`)
    if (UPDATE) {
      mkdirSync(GOLDEN, { recursive: true })
      writeFileSync(file, shown)
    }
    expect(shown).toBe(readFileSync(file, "utf8"))
  })
})

/** Without what differs from one machine to the next, and with escapes that can be read. */
const stable = (text: string): string =>
  text
    .replaceAll(machine.root, "/ROOT")
    .replace(/ctx:\w{4,}/g, (handle) => "ctx:".padEnd(handle.length, "x"))
    .replace(/^(.*on disk.*? {2}).*/m, "$1DISK")
    .replace(/ +(size|[\d.]+ KB)/g, (_, size: string) => (size === "size" ? "  size" : "  SIZE"))
    .replaceAll("\x1b", "␛")
