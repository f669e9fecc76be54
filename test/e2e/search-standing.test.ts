/** `status` and `doctor` on what searching needs: the MCP server, the word index, the vectors. */
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const STATE = JSON.stringify({ numStartups: 9, oauth: "s3cret" }, null, 2)

let machine: Machine
let state: string

beforeEach(async () => {
  machine = new Machine()
  state = join(machine.home, ".claude.json")
  writeFileSync(state, STATE)
  const session = machine.session().turn("where is the heron", [], "at the weir").flush()
  expect((await machine.hook("stop", session)).code).toBe(0)
})

afterEach(() => machine[Symbol.dispose]())

const call = async (...args: string[]) => run(args, { cwd: machine.cwd, env: machine.env })

async function status() {
  const { code, stdout, stderr } = await call("status", "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { mcp, index, embedding } = JSON.parse(stdout)
  return { mcp, index, embedding }
}

async function doctor(check: string, ...args: string[]) {
  const { stdout, stderr } = await call("doctor", "--json", ...args)
  expect({ stderr, secret: stdout.includes("s3cret") }).toEqual({ stderr: "", secret: false })
  const report = JSON.parse(stdout)
  const own = report.findings.filter((one: { check: string }) => one.check === check)
  expect(own).toHaveLength(1)
  const { state, repair } = own[0]
  return { state, repair }
}

const REPAIR = "register the MCP server in the user settings"
const change = (edit: (whole: Record<string, unknown>) => object): void =>
  writeFileSync(state, JSON.stringify(edit(JSON.parse(readFileSync(state, "utf8"))), null, 2))

test("the MCP server is registered, and stays away once the user has removed it", async () => {
  expect((await status()).mcp).toEqual([
    { scope: "user", file: state, state: "absent", command: null, problem: null },
  ])
  expect(await doctor("server")).toEqual({ state: "skipped", repair: null })
  await call("install")
  expect((await status()).mcp).toMatchObject([{ state: "registered", command: binary() }])
  expect((await call("status")).stdout).toContain(`registered in ${state}`)
  expect(await doctor("server")).toEqual({ state: "ok", repair: null })
  // As Claude Code's own command leaves it.
  change((whole) => ({ ...whole, mcpServers: {} }))
  expect((await status()).mcp).toMatchObject([{ state: "removed", command: null }])
  expect(await doctor("server", "--fix")).toEqual({ state: "skipped", repair: null })
  expect(JSON.parse(readFileSync(state, "utf8")).mcpServers).toEqual({})
})

test("the MCP server is registered again when the host lost it or it can no longer be started", async () => {
  await call("install")
  writeFileSync(state, STATE)
  expect((await status()).mcp).toMatchObject([{ state: "lost" }])
  expect(await doctor("server")).toEqual({ state: "warn", repair: REPAIR })
  expect(await doctor("server", "--fix", "--dry-run")).toEqual({ state: "warn", repair: REPAIR })
  expect(readFileSync(state, "utf8")).toBe(STATE)
  expect(await doctor("server", "--fix")).toEqual({ state: "ok", repair: null })
  const entry = JSON.parse(readFileSync(state, "utf8")).mcpServers.ctxbridge
  change((whole) => ({ ...whole, mcpServers: { ctxbridge: { ...entry, command: "/gone/ctxbridge" } } }))
  expect((await status()).mcp).toMatchObject([{ state: "other", command: "/gone/ctxbridge" }])
  expect(await doctor("server")).toEqual({ state: "fail", repair: REPAIR })
  expect(await doctor("server", "--fix")).toEqual({ state: "ok", repair: null })
  change((whole) => ({ ...whole, mcpServers: { ctxbridge: { command: "/usr/bin/other", args: [] } } }))
  expect(await doctor("server", "--fix")).toEqual({ state: "warn", repair: null })
  writeFileSync(state, "{ not JSON")
  expect(await doctor("server")).toEqual({ state: "fail", repair: null })
})

test("the word index: a message without its words is detected and found again", async () => {
  expect((await status()).index).toEqual({
    messages: 2,
    indexed: 2,
    cold: 0,
    complete: true,
    outdated: false,
  })
  expect(await doctor("words")).toEqual({ state: "ok", repair: null })
  const db = new Database(join(machine.dataHome, "archive.db"))
  db.run("DELETE FROM words WHERE rowid = (SELECT max(id) FROM messages)")
  db.close()
  expect((await status()).index).toEqual({
    messages: 2,
    indexed: 1,
    cold: 0,
    complete: false,
    outdated: false,
  })
  expect((await call("status", "--verbose")).stdout).toMatch(/word index\s+1 of 2 messages/)
  expect(await doctor("words")).toEqual({ state: "fail", repair: "rebuild the database from the vault" })
  expect(await doctor("words", "--fix")).toEqual({ state: "ok", repair: null })
  expect((await call("search", "weir")).code).toBe(0)
})

test("vectors: which embedder is in use, and when an installed model is not used", async () => {
  const { embedding } = await status()
  expect(embedding).toMatchObject({ embedder: "hashed-ngrams-1", model: null, problem: null, turns: 1 })
  expect((await call("status", "--verbose")).stdout).toMatch(
    /vectors\s+\d of 1 turn, by hashed words, no model/,
  )
  expect(await doctor("vectors")).toEqual({ state: "ok", repair: null })
  mkdirSync(join(machine.dataHome, "models"))
  const file = { path: "tokenizer.json", bytes: 5, sha256: "0".repeat(64) }
  const model = { ...file, path: "onnx/model_quantized.onnx" }
  const manifest = { id: "mine", dimension: 384, files: [model, file] }
  writeFileSync(join(machine.dataHome, "models", "manifest.json"), JSON.stringify(manifest))
  expect((await status()).embedding).toMatchObject({
    embedder: "hashed-ngrams-1",
    problem: "its files are missing or of another size",
  })
  expect(await doctor("vectors")).toEqual({ state: "warn", repair: null })
})
