/** What others have written about a piece of a vault is checked before it names any file, or any session. */
import { expect, test } from "bun:test"
import { sessionIdOf } from "../../../src/base/session-id.ts"
import { isPieceAbout, isPlainlyNamed } from "../../../src/sync/targets/pieces.ts"
import { vaultPath } from "../../../src/vault/layout.ts"
import { piece } from "./contract.ts"

const { frame: _, ...good } = piece("x\n")

test("what is damaged is about no piece", () => {
  expect(isPieceAbout(good)).toBe(true)
  for (const bad of [
    { place: 7 },
    { session: null },
    { from: 5, to: 5 },
    { from: -1 },
    { to: 1.5 },
    { sha256: "00" },
    { tailHash: "xyz" },
    { rules: 256 },
    { folder: 7 },
  ])
    expect({ bad, is: isPieceAbout({ ...good, ...bad }) }).toEqual({ bad, is: false })
})

const PROJECTS = "/home/ada/.claude/projects"

/** As a machine sends what is at a path. */
const at = (path: string, session: string) => ({ path, session, place: vaultPath(path, "/home/ada") })

test("names as machines of ours give them", () => {
  const run = "5e551011/subagents/workflows/wf_1"
  for (const plain of [
    {},
    at(`${PROJECTS}/-src-app/5e551011.jsonl`, "5e551011"),
    at(`${PROJECTS}/-src-app/5e551011/subagents/agent-a1.jsonl`, "5e551011/a1"),
    at(`${PROJECTS}/-src-app/agent-a1.jsonl`, "5e551011/a1"),
    at(`${PROJECTS}/-src-app/${run}/agent-a1.jsonl`, "5e551011/a1"),
    at(`${PROJECTS}/-src-app/${run}/journal.jsonl`, "5e551011/workflows/wf_1/journal"),
    at(`${PROJECTS}/-src-app/5e551011/tool-results/what it (said).txt`, "5e551011"),
    at(`/mnt/other/projects/-src-app/5e551011.jsonl`, "5e551011"),
    at(`/tmp/5e551011.jsonl`, "5e551011"),
    // A transcript of another name goes by the hash of it.
    at(`${PROJECTS}/-src-app/my notes.jsonl`, sessionIdOf("my notes")),
    at(`${PROJECTS}/-src-app/--continue.jsonl`, sessionIdOf("--continue")),
    at(`${PROJECTS}/Größe 2/5e551011.jsonl`, "5e551011"),
    {
      session: "5e551011~claude-mem",
      place: "imported/claude-mem/5e551011~claude-mem.jsonl.zst",
      path: "/home/ada/my files/mem.db~/5e551011~claude-mem.jsonl",
    },
    { place: "summaries/5e551011.jsonl.zst" },
    { writer: "MacBook-Pro-1a2b3c4d" },
  ])
    expect({ plain, is: isPlainlyNamed({ ...good, ...plain }) }).toEqual({ plain, is: true })
})

/** None may be the name of a session, of an agent, a copy or a machine. */
const ODD = [
  "",
  "-x",
  "--dangerously-skip-permissions",
  "..",
  ".x",
  "a b",
  "a\nb",
  "a\u001b[31m",
  "a\u202eb",
  "$(id)",
  "a;b",
  "a\\b",
  "C:x",
  "größe",
  "x".repeat(201),
]

test("what leads out of the vault, or is an option or a sentence, names no piece", () => {
  const bad = [
    ...ODD.flatMap((name) => [
      { session: name },
      { session: `5e551011/${name}` },
      { session: `${name}/a1` },
      { writer: name },
      { copy: name },
      { place: `home/-src-app/${name}.jsonl.zst` },
      { place: `home/-src-app/${name}/subagents/agent-a1.jsonl.zst` },
      { path: `${PROJECTS}/-src-app/${name}.jsonl` },
      { path: `${PROJECTS}/-src-app/${name}.jsonl`, session: name },
      { path: `${PROJECTS}/-src-app/5e551011/subagents/agent-${name}.jsonl`, session: `5e551011/${name}` },
    ]),
    { session: "another" },
    { session: "5e551011/a1" },
    { place: "home/../../etc/x.jsonl.zst" },
    { place: "home/-x/5e551011/../x.jsonl.zst" },
    { place: "home/-x/5e551011/-x/y.jsonl.zst" },
    { place: "/home/x.zst" },
    { place: "home//x.zst" },
    { place: "home/./x.zst" },
    { place: "fetched/x/y/home/x.zst" },
    { place: "home/x.jsonl" },
    { place: "home/a\0b.zst" },
    { place: "home/a\u001b[2J/x.zst" },
    { place: "home/C:\\x/x.zst" },
    { writer: "../x" },
    { copy: "a/b" },
    { path: "relative.jsonl" },
    { path: "/home/a\u001b[2J/5e551011.jsonl" },
  ]
  for (const one of bad) expect({ one, is: isPlainlyNamed({ ...good, ...one }) }).toEqual({ one, is: false })
})
