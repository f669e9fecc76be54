import { expect, test } from "bun:test"
import { transcriptName } from "../../../src/agents/layouts.ts"
import {
  isBesideCopy,
  isSuperseded,
  supersededPath,
  vaultPath,
  withoutVersion,
} from "../../../src/vault/layout.ts"
import { goneMark } from "../../../src/views/transcript-rows.ts"

test("a transcript's copy stands where the host has it, below its projects folder", () => {
  expect(vaultPath("/home/me/.claude/projects/-src-app/abc.jsonl", "/home/me")).toBe(
    "home/-src-app/abc.jsonl.zst",
  )
  expect(vaultPath("/home/me/.claude/projects/-src-app/abc/subagents/agent-1.jsonl", "/home/me")).toBe(
    "home/-src-app/abc/subagents/agent-1.jsonl.zst",
  )
})

test("two configuration folders never share a copy", () => {
  const first = vaultPath("/a/claude/projects/p/abc.jsonl", "/home/me")
  const second = vaultPath("/b/claude/projects/p/abc.jsonl", "/home/me")
  expect(first).not.toBe(second)
  expect(first).toMatch(/^root-[0-9a-f]{8}\/p\/abc\.jsonl\.zst$/)
})

test("a file that is in no projects folder stands under a label of its own folder", () => {
  expect(vaultPath("/tmp/x.jsonl", "/home/me")).toMatch(/^root-[0-9a-f]{8}\/x\.jsonl\.zst$/)
  expect(vaultPath("/tmp/projects/x.jsonl", "/home/me")).toMatch(/^root-[0-9a-f]{8}\/x\.jsonl\.zst$/)
})

test("the last projects folder counts, if a folder of a project is in it", () => {
  expect(vaultPath("/projects/p/x.jsonl", "/")).toMatch(/^root-[0-9a-f]{8}\/p\/x\.jsonl\.zst$/)
  expect(vaultPath("/home/me/.claude/projects/projects/x.jsonl", "/home/me")).toMatch(
    /^root-[0-9a-f]{8}\/x\.jsonl\.zst$/,
  )
  expect(vaultPath("/h/projects/p/projects", "/home/me")).toMatch(/^root-[0-9a-f]{8}\/projects\.zst$/)
  expect(vaultPath("/h/projects/p/projects/q/x.jsonl", "/home/me")).toMatch(
    /^root-[0-9a-f]{8}\/q\/x\.jsonl\.zst$/,
  )
})

test("names of sessions and subagents, old and new", () => {
  expect(transcriptName("/p/abc.jsonl")).toEqual({ session: "abc", agent: undefined })
  expect(transcriptName("/p/agent-12.jsonl")).toEqual({ session: undefined, agent: "12" })
  expect(transcriptName("/p/abc/subagents/agent-12.jsonl")).toEqual({ session: "abc", agent: "12" })
  const workflow = "/h/projects/-p/abc/subagents/workflows/run-1"
  expect(transcriptName(`${workflow}/agent-12.jsonl`)).toEqual({ session: "abc", agent: "12" })
  expect(transcriptName(`${workflow}/journal.jsonl`)).toEqual({
    session: "abc",
    agent: "workflows/run-1/journal",
  })
  // Folders of the user's that are called so.
  for (const path of ["/subagents/h/projects/-p/abc.jsonl", "/h/subagents/abc.jsonl"])
    expect(transcriptName(path)).toEqual({ session: "abc", agent: undefined })
  const beside = "/h/subagents/h/projects/-p/agent-12.jsonl"
  expect(transcriptName(beside)).toEqual({ session: undefined, agent: "12" })
})

test("superseded copies keep a name of their own, as many as there are, whatever the file was called", () => {
  expect(supersededPath("/v/a.jsonl.zst", 2)).toBe("/v/a.~2.jsonl.zst")
  for (const file of ["/v/a.jsonl.zst", "/v/notes.zst", "/v/a.~b.jsonl.zst"]) {
    expect([file, isSuperseded(file)]).toEqual([file, false])
    for (const n of [1, 9, 10, 123]) {
      const former = supersededPath(file, n)
      expect([former, isSuperseded(former), withoutVersion(former)]).toEqual([former, true, file])
    }
  }
})

test("the mark of a copy that is gone changes nothing of what its name says", () => {
  const ids = ["0123abcd-4f5e", "0123456789ab"]
  for (const [copy, isBeside, former] of [
    ["home/-x/S1.jsonl.zst", false, false],
    ["home/-x/S1.~2.jsonl.zst", false, true],
    ["home/-x/S1/subagents/agent-a.jsonl.zst", false, false],
    ["home/-x/S1/subagents/agent-a.~1.jsonl.zst", false, true],
    ["home/-x/S1/tool-results/b1.txt.zst", true, false],
    ["home/-x/S1/tool-results/b1.txt.~1.zst", true, true],
    ["home/-x/S1/tool-results/rows.jsonl.zst", true, false],
    ["home/-x#1/S1/tool-results/b1.zst#2.txt.zst", true, false],
    ["fetched/other/0123abcd-4f5e/home/-x/S1/subagents/agent-a.jsonl.zst", false, false],
    ["imported/tool/S1.jsonl.zst", false, false],
    ["history/home.jsonl.zst", false, false],
  ] as const)
    for (const name of [copy, ...ids.map((id) => copy + goneMark(id))]) {
      const said = { isBeside: isBesideCopy(name), former: isSuperseded(name), place: withoutVersion(name) }
      expect([name, said]).toEqual([name, { isBeside, former, place: copy.replace(/\.~\d/, "") }])
    }
})

test("a session's name that is no id is replaced in its copies' names", () => {
  const hash = new Bun.CryptoHasher("sha256").update("-p q").digest("hex")
  const projects = "/home/me/.claude/projects/-src"
  expect(vaultPath(`${projects}/-p q.jsonl`, "/home/me")).toBe(`home/-src/${hash}.jsonl.zst`)
  expect(vaultPath(`${projects}/-p q/subagents/agent-1.jsonl`, "/home/me")).toBe(
    `home/-src/${hash}/subagents/agent-1.jsonl.zst`,
  )
  expect(vaultPath(`${projects}/-p q/tool-results/b1.txt`, "/home/me")).toBe(
    `home/-src/${hash}/tool-results/b1.txt.zst`,
  )
  expect(vaultPath("/backup/-p q.jsonl", "/home/me")).toEndWith(`/${hash}.jsonl.zst`)
})

test.each([
  ["home/-src/abc.jsonl.zst", false],
  ["home/-src/abc.~1.jsonl.zst", false],
  ["home/-src/abc/subagents/agent-1.jsonl.zst", false],
  ["home/-src/abc/subagents/agent-1.meta.json.zst", true],
  ["home/-src/abc/tool-results/b1.txt.zst", true],
  ["home/-src/abc/tool-results/b1.txt.~2.zst", true],
  ["home/-src/abc/tool-results/rows.jsonl.zst", true],
  ["root-0123abcd/-src/abc/plan.md.zst", true],
  ["root-0123abcd/abc.jsonl.zst", false],
  ["fetched/other/0123/home/-src/abc.jsonl.zst", false],
  ["imported/claude-mem/abc~claude-mem.jsonl.zst", false],
  ["summaries/abc.jsonl.zst", false],
])("%s is of a file beside a transcript: %p", (copy, isIts) => {
  expect(isBesideCopy(copy)).toBe(isIts)
})
