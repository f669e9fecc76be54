/** An address may hold a password, which is neither shown nor logged. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { logPath } from "../../src/base/log.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const PASSWORD = "moss7Lantern"
const OF_WEB = `https://bob:${PASSWORD}@127.0.0.1:1/releases`
const OF_SERVER = `postgres://bob:${PASSWORD}@127.0.0.1:1/shop`

const call = (machine: Machine, words: readonly string[], env: Record<string, string> = {}) =>
  run([...words], { cwd: machine.cwd, env: { ...machine.env, ...env } })

const REFUSED = "cannot fetch https://bob:***@127.0.0.1:1/releases/"

test.each([
  [["update", "--from", OF_WEB], 1, REFUSED],
  [["update", "--check", "--from", OF_WEB, "--json"], 1, REFUSED],
  [["model", "install", "--from", OF_WEB], 1, REFUSED],
  [
    ["update", "--from", `ftp://bob:${PASSWORD}@shop`],
    1,
    "not an address to install from: ftp://bob:***@shop",
  ],
  // With a slash and a sign in it, as nobody should write one.
  [["update", "--from", `https://bob:a/@${PASSWORD}@shop/`], 1, "https://bob:***@shop/"],
  [["update", "--from", `https://shop/?token=${PASSWORD}`], 1, "https://shop/?token=***"],
  [["config", "set", "sync.to", OF_SERVER], 64, 'sync.to cannot be "postgres://bob:***@127.0.0.1:1/shop"'],
  [
    ["config", "set", "sync.to", `postgres://bob:/${PASSWORD}@shop`],
    64,
    'sync.to cannot be "postgres://bob:***@shop"',
  ],
  [["config", "set", "sync.to", `postgres:bob:${PASSWORD}@shop`, "--json"], 64, "postgres:bob:***@shop"],
  [
    ["config", "set", "sync.to", `postgres://bob:a ${PASSWORD}@shop`],
    64,
    'sync.to cannot be "postgres://bob:***@shop"',
  ],
  [["config", "set", "update.from", OF_WEB], 0, "update.from = https://bob:***@127.0.0.1:1/releases in "],
  [["config", "set", "embed.from", OF_WEB, "--json"], 0, '"value": "https://bob:***@127.0.0.1:1/releases"'],
  [["update", OF_WEB], 64, "unexpected argument: https://bob:***@127.0.0.1:1/releases"],
] as const)("%j", async (words, code, told) => {
  using machine = new Machine()
  const ran = await call(machine, words)
  const all = ran.stdout + ran.stderr
  expect({ code: ran.code, told: all.replaceAll('\\"', '"').includes(told), all }).toMatchObject({
    code,
    told: true,
  })
  expect(all).not.toContain(PASSWORD)
  expect(all).not.toContain("bug in ctxbridge")
})

test("options that hold one, wherever they are told, and whether they count or not", async () => {
  using machine = new Machine()
  const file = join(machine.home, ".config", "ctxbridge", "config.toml")
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `sync.to = "${OF_SERVER}"\nupdate.from = "${OF_WEB}"\nembed.from = "${OF_WEB}"\n`)
  for (const words of [
    ["config", "list"],
    ["config", "list", "--json"],
    ["config", "get", "update.from"],
    ["config", "get", "sync.to"],
    ["config", "describe", "embed.from", "--json"],
    ["status"],
    ["doctor"],
    ["sync", "--json"],
    ["model", "install", "--json"],
    ["update"],
  ]) {
    const ran = await call(machine, words)
    expect(`${words.join(" ")}: ${ran.stdout}${ran.stderr}`).not.toContain(PASSWORD)
    expect(ran.stdout + ran.stderr).toContain("bob:***@127.0.0.1:1/")
  }
  const variable = await call(machine, ["config", "set", "update.from", "/srv/releases"], {
    CTXBRIDGE_RELEASES: OF_WEB,
  })
  expect(variable).toMatchObject({ code: 0, stderr: "" })
  expect(variable.stdout).toContain(
    "It has no effect here: https://bob:***@127.0.0.1:1/releases comes from the env.",
  )
  // A session notes in the log what is wrong with the options.
  expect(await machine.hook("session-start", machine.session())).toMatchObject({ code: 0, stderr: "" })
  const logged = readFileSync(logPath(join(machine.dataHome, "state")), "utf8")
  expect(logged).toContain("postgres://bob:***@127.0.0.1:1/shop")
  expect(logged).not.toContain(PASSWORD)
})
