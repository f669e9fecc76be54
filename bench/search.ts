/**
 * What a search costs as a whole process: `bun bench/search.ts [--sizes 10000,100000,1000000] [--rounds N] [--dir DIR]
 * [--exe PATH] [--model DIR]`. Archives are generated from a seed and kept in DIR, by default a temporary folder. With a
 * folder of the model's two files, all turns have vectors, and the model is asked where words leave something open, as
 * in the third query.
 */
import { mkdirSync, realpathSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { buildEmpty } from "../src/cli/bench/bench-hooks.ts"
import { type Case, measureCommands } from "../src/cli/bench/hook-world.ts"
import { measureCalls } from "./mcp-calls.ts"
import { embeddedArchive, seededArchive } from "./seeded-archive.ts"
import { common, middling, rare } from "./seeded-words.ts"

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "10000,100000,1000000" },
    rounds: { type: "string", default: "20" },
    dir: { type: "string", default: join(tmpdir(), "ctxbridge-search-bench") },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
    model: { type: "string" },
  },
})
mkdirSync(values.dir, { recursive: true })
const dir = realpathSync(values.dir)

/** What people ask: a name, a few words, very common words, a phrase; within a project and everywhere. */
const QUERIES: readonly (readonly string[])[] = [
  [rare(1)],
  [`${rare(2)} ${common(3)}`],
  [`${middling(1)} ${middling(2)} ${middling(3)}`],
  [`${common(1)} ${common(2)} ${common(4)} ${common(5)} ${common(6)}`],
  [`${middling(4)} AND ${common(0)}`],
  [`"${common(0)} ${common(1)}"`],
  [`${middling(5)} ${common(7)}`, "--role", "human"],
]

const exe = resolve(values.exe)
const empty = buildEmpty(exe, dir)
for (const size of values.sizes.split(",").map(Number)) {
  const { model } = values
  const home =
    model === undefined ? seededArchive(dir, size) : embeddedArchive(exe, dir, size, resolve(model))
  const env = { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), BUN_OPTIONS: "", BUN_BE_BUN: "" }
  const searches = QUERIES.flatMap(([query, ...more], n): Case[] =>
    [["--all-projects"], ["--project", "/home/dev/project-3"]].map((scope) => ({
      name: `${n} ${scope[0]}`,
      argv: [exe, "search", "--json", ...scope, ...more, "--", query!],
      env,
      cwd: dir,
    })),
  )
  const idle = [
    { name: "empty", argv: [empty], env, cwd: dir },
    { name: "mcp, no call", argv: [exe, "mcp"], env, cwd: dir },
  ]
  const results = await measureCommands([...idle, ...searches], {
    rounds: Number(values.rounds),
    warmup: 2,
    memoryRounds: 1,
  })
  const [base, , ...all] = results
  const disk = statSync(join(home, "archive", "archive.db")).size
  console.log(`\n${size} messages, database ${(disk / 1e6).toFixed(0)} MB`)
  for (const { name, cpuMs, wallMs, peakMB, failed } of results) {
    const ratio = (wallMs.p95 / base!.wallMs.p95).toFixed(1)
    const cpu = (cpuMs.median / base!.cpuMs.median).toFixed(1)
    const line = [`cpu ${cpuMs.median.toFixed(1)} (${cpu} x)`, `wall ${wallMs.median.toFixed(1)}`]
    line.push(`p95 ${wallMs.p95.toFixed(1)} (${ratio} x)`, `${peakMB.median.toFixed(0)} MB`)
    console.log(`${name.padEnd(20)} ${line.join("  ")}${failed > 0 ? `  ${failed} found nothing` : ""}`)
  }
  const worst = Math.max(...all.map(({ wallMs }) => wallMs.p95))
  console.log(
    `worst p95: ${worst.toFixed(1)} ms, ${(worst / base!.wallMs.p95).toFixed(1)} x an empty Bun binary`,
  )
  const calls = QUERIES.flatMap(([query, _option, role], n) =>
    [true, false].map((everywhere) => ({
      name: `${n} ${everywhere ? "all projects" : "project"}`,
      tool: "search",
      args: { query, all_projects: everywhere, ...(role === undefined ? {} : { role }) },
    })),
  )
  const host = { env: { ...env, CLAUDE_PROJECT_DIR: "/home/dev/project-3" }, cwd: dir }
  console.log("through MCP, ms from request to answer")
  for (const { name, ms } of await measureCalls([exe, "mcp"], host, calls, Number(values.rounds))) {
    const sorted = ms.toSorted((a, b) => a - b)
    const at = (share: number): string => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(1)
    console.log(`${name.padEnd(20)} median ${at(0.5)}  p95 ${at(0.95)}`)
  }
}
