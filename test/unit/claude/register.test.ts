import { afterEach, beforeEach, expect, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type OursToAdd, register, unregister } from "../../../src/claude/install/register.ts"

let root: string
let file: string
const locked: string[] = []

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-register-"))
  file = join(root, "config", "agent.toml")
  locked.length = 0
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

const LINE = 'notify = ["ctxbridge"]\n'

/** A line in a TOML file: nothing about it is JSON. */
const ours = (): OursToAdd => ({
  file,
  folderMode: 0o700,
  lock: (path, work) => {
    locked.push(path)
    return work()
  },
  add: (text = "") =>
    text.includes(LINE) ? unchanged(text) : { text: text + LINE, added: ["notify"], replaced: [] },
  remove: (text) =>
    text.includes(LINE) ? { text: text.replace(LINE, ""), removed: ["notify"] } : { text, removed: [] },
  isEmpty: (text) => text.trim() === "",
})

const unchanged = (text: string) => ({ text, added: [], replaced: [] })

const options = () => ({ dataHome: join(root, "data") })

test("a file of any format: made, left as it is by the second install, and deleted again with its folder", () => {
  const made = register(ours(), options())
  expect(made).toMatchObject({ action: "created", added: ["notify"], diff: [`+${LINE.trim()}`] })
  expect(readFileSync(file, "utf8")).toBe(LINE)
  expect(register(ours(), options()).action).toBe("none")
  expect(unregister(ours(), options())).toMatchObject({ action: "deleted", removed: ["notify"] })
  expect(existsSync(join(root, "config"))).toBe(false)
  expect(existsSync(join(root, "data", "install"))).toBe(false)
  expect(locked).toEqual([file, file, file])
})

test("what others wrote since stays; what nobody touched gets its bytes and mode back", () => {
  register(ours(), options())
  writeFileSync(file, `${LINE}# mine\n`)
  expect(unregister(ours(), options()).action).toBe("edited")
  expect(readFileSync(file, "utf8")).toBe("# mine\n")
  chmodSync(file, 0o640)
  register(ours(), options())
  expect(statSync(file).mode & 0o777).toBe(0o640)
  expect(unregister(ours(), options()).action).toBe("restored")
  expect(readFileSync(file, "utf8")).toBe("# mine\n")
})

test("a dry run takes no lock and writes nothing; a private file's lines are not told", () => {
  expect(register(ours(), { ...options(), dryRun: true })).toMatchObject({ action: "created", dryRun: true })
  expect([existsSync(file), existsSync(join(root, "data")), locked]).toEqual([false, false, []])
  expect(register({ ...ours(), isPrivate: true }, options())).toMatchObject({ action: "created", diff: [] })
})

test("a file that cannot be read as text is named, and the hint stays", () => {
  mkdirSync(join(root, "config"))
  writeFileSync(file, Buffer.from([0x61, 0xff]))
  let error: unknown
  try {
    register(ours(), options())
  } catch (cause) {
    error = cause
  }
  expect(error).toMatchObject({
    code: "settings-encoding",
    message: `${file}: not UTF-8`,
    hint: expect.stringMatching(/\w/),
  })
  expect([...readFileSync(file)]).toEqual([0x61, 0xff])
})
