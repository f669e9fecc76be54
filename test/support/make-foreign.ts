/**
 * Remakes the archives in test/fixtures/foreign with the tools' own code:
 *
 *   npm pack claude-mem@13.25.3 claude-flow@3.43.0, each unpacked into a folder of its own
 *   bun test/support/make-foreign.ts <claude-mem>/package <claude-flow>/package
 *
 * claude-flow's hook requires better-sqlite3, and gets Bun's SQLite under that name. leafhill is a Rust program:
 * test/support/leafhill.ts makes its database from its schema.
 */
import { Database } from "bun:sqlite"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const OUT = join(import.meta.dir, "../fixtures/foreign")
const SESSION = "3f2a9c01-1111-4222-8333-444455556666"
const OTHER = "7be1d402-1111-4222-8333-444455556666"

/** Replaces better-sqlite3. */
const SHIM = `
const { Database } = require("bun:sqlite")
module.exports = class extends Database {
  constructor(path) { super(path, { create: true, strict: false }) }
  pragma(text) { return this.query("PRAGMA " + text).all() }
}
`

const ABSENT = `throw new Error("not here")`

function put(project: string, name: string, code: string): void {
  const module = join(project, "node_modules", name)
  mkdirSync(module, { recursive: true })
  writeFileSync(join(module, "index.js"), code)
  writeFileSync(join(module, "package.json"), JSON.stringify({ name, main: "index.js" }))
}

function keep(file: string, name: string): void {
  writeFileSync(join(OUT, `${name}.zst`), Bun.zstdCompressSync(readFileSync(file), { level: 19 }))
}

interface ClaudeMem {
  readonly db: Database
  createSDKSession(id: string, project: string, prompt: string, title?: string): number
  updateMemorySessionId(session: number, id: string): void
  saveUserPrompt(id: string, n: number, text: string, session?: number): void
  upsertToolUse(use: object): unknown
  storeObservation(
    id: string,
    project: string,
    observation: object,
    n: number,
    tokens: number,
    epoch: number,
  ): unknown
  storeSummary(
    id: string,
    project: string,
    summary: object,
    n: number,
    tokens: number,
    epoch: number,
  ): unknown
  close(): void
}

function makeClaudeMem(folder: string, scratch: string): void {
  process.env["CLAUDE_MEM_DATA_DIR"] = join(scratch, "data")
  const { SessionStore } = require(join(folder, "plugin/sqlite/SessionStore.js")) as {
    SessionStore: new (path: string) => ClaudeMem
  }
  const file = join(scratch, "claude-mem.db")
  const store = new SessionStore(file)
  const time = Date.UTC(2026, 4, 18, 15, 0, 0)
  const session = store.createSDKSession(SESSION, "shop", "Make the checkout retry", "Checkout retries")
  store.updateMemorySessionId(session, "mem-1")
  store.saveUserPrompt(SESSION, 1, "Make the checkout retry. Never touch the ledger.", session)
  store.upsertToolUse({
    toolUseId: "toolu_mem1",
    contentSessionId: SESSION,
    memorySessionId: "mem-1",
    sessionDbId: session,
    project: "shop",
    toolName: "Bash",
    toolInput: JSON.stringify({ command: "npm test -- checkout" }),
    toolResponse: "3 passing",
    cwd: "/src/shop",
    promptNumber: 1,
    createdAtEpoch: time + 2000,
  })
  const observation = {
    type: "decision",
    title: "Backoff for the checkout",
    subtitle: "Three tries",
    facts: ["doubles from 100 ms", "gives up after 3"],
    narrative: "Chose exponential backoff rather than a fixed delay.",
    concepts: ["retry"],
    files_read: ["src/checkout.ts"],
    files_modified: ["src/retry.ts"],
  }
  store.storeObservation("mem-1", "shop", observation, 1, 40, time + 3000)
  store.saveUserPrompt(SESSION, 2, "Now the refunds", session)
  const summary = {
    request: "Retries for checkout",
    investigated: "The client",
    learned: "It never retried",
    completed: "Backoff",
    next_steps: "Refunds",
    notes: null,
  }
  store.storeSummary("mem-1", "shop", summary, 1, 60, time + 4000)
  const second = store.createSDKSession(OTHER, "shop", "What is left?")
  store.updateMemorySessionId(second, "mem-2")
  store.saveUserPrompt(OTHER, 1, "What is left?", second)
  // Otherwise the file would contain the date on which it was made.
  for (const table of ["sdk_sessions", "user_prompts", "tool_uses"]) {
    const epoch = table === "sdk_sessions" ? "started_at" : "created_at"
    store.db.run(`UPDATE ${table} SET ${epoch}_epoch = ${time} + id * 1000,
      ${epoch} = strftime('%Y-%m-%dT%H:%M:%SZ', (${time} + id * 1000) / 1000, 'unixepoch')`)
  }
  store.db.run("VACUUM")
  store.db.run("PRAGMA journal_mode = DELETE")
  store.close()
  keep(file, "claude-mem.db")
}

function makeClaudeFlow(folder: string, scratch: string): void {
  for (const backend of ["json", "db"] as const) {
    const project = join(scratch, backend)
    mkdirSync(join(project, ".claude"), { recursive: true })
    cpSync(join(folder, ".claude/helpers"), join(project, ".claude/helpers"), { recursive: true })
    // Its hook falls back to the next kind of archive if one cannot be loaded.
    put(project, "better-sqlite3", backend === "db" ? SHIM : ABSENT)
    put(project, "@claude-flow/memory", ABSENT)
    const transcript = join(project, "transcript.jsonl")
    const message = (role: string, content: unknown): string =>
      `${JSON.stringify({ type: role, message: { role, content } })}\n`
    const use = { type: "tool_use", id: "toolu_1", name: "Edit", input: { file_path: "/src/shop/retry.ts" } }
    writeFileSync(
      transcript,
      message("user", "Make the checkout retry. Never touch the ledger.") +
        message("assistant", [{ type: "text", text: "I chose backoff rather than a fixed delay." }, use]) +
        message("user", [{ type: "tool_result", tool_use_id: "toolu_1", content: "ok" }]) +
        message("user", "Now the refunds") +
        message("assistant", [{ type: "text", text: "Refunds retry, too." }]),
    )
    const hook = join(project, ".claude/helpers/context-persistence-hook.mjs")
    const stdin = JSON.stringify({ session_id: SESSION, transcript_path: transcript, trigger: "manual" })
    const made = Bun.spawnSync([process.execPath, "--bun", hook, "pre-compact"], {
      cwd: project,
      stdin: Buffer.from(stdin),
      env: { HOME: scratch, PATH: process.env["PATH"] ?? "" },
    })
    if (made.exitCode !== 0) throw new Error(made.stderr.toString())
    const file = join(project, ".claude-flow/data", `transcript-archive.${backend}`)
    if (backend === "db") {
      const db = new Database(file)
      db.run("UPDATE transcript_entries SET embedding = NULL")
      db.run("VACUUM")
      db.run("PRAGMA journal_mode = DELETE")
      db.close()
    }
    keep(file, `transcript-archive.${backend}`)
  }
}

const [claudeMem, claudeFlow] = process.argv.slice(2)
if (claudeMem === undefined || claudeFlow === undefined)
  throw new Error("say where the packages are unpacked")
const scratch = mkdtempSync(join(tmpdir(), "make-foreign-"))
mkdirSync(OUT, { recursive: true })
try {
  makeClaudeMem(resolve(claudeMem), scratch)
  makeClaudeFlow(resolve(claudeFlow), scratch)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
