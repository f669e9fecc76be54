/** Where a bundle is patched, when it is not, and what comes of it. */
import { describe, expect, test } from "bun:test"
import { insertionDiff, patchedText, patchIn, programKind } from "../../../src/prune/patch/examine-program.ts"
import { findPlace } from "../../../src/prune/patch/find-place.ts"
import { bundle } from "../../support/bundle.ts"

const BINARY = '/opt/a "b"/$&/ctxbridge'

function patched(text: string) {
  const result = patchedText(text, BINARY)
  if ("why" in result) throw new Error(result.why)
  return result
}

describe("the place", () => {
  test("is after the micro-compaction and before the automatic one, whatever things are called", () => {
    for (const text of [
      bundle(),
      bundle(["let m=", "let $m="], ["(m,t)", "($m,t)"], ["m=r.", "$m=r."], ["m=c", "$m=c"], [":m}", ":$m}"]),
      bundle(["await compact(m,t)", "await deps.autocompact(m,t,{forked:m})"]),
      bundle(["[...a.slice(0),q]", "[...a,q]"]),
    ]) {
      const place = findPlace(text)
      if ("why" in place) throw new Error(place.why)
      expect(text.slice(place.call)).toStartWith("let{compactionResult:c}=await")
      expect(text.slice(place.before)).toStartWith("async function*loop(")
      expect(text.slice(place.summary)).toStartWith("async function sum(")
      expect(text.slice(place.summarised.start, place.summarised.end)).toStartWith("a")
      expect(place.messages).toBeOneOf(["m", "$m"])
      expect(place.context).toBe("t")
      expect(place.session).toEqual({ name: "sid", source: "function sid(){return S.sessionId}" })
    }
  })

  test.each([
    ["nothing of it", 'yield{type:"stream_request_start"}', "yield{}", "the loop"],
    [
      "it twice",
      "async function compact(",
      'function*x(){yield{type:"stream_request_start"}}async function compact(',
      "2 times",
    ],
    ["no generator around it", "async function*loop(", "async function loop(", "parsed"],
    ["syntax that is not known", "let m=[...a]", "let m=[...a] <> 1", "parsed"],
    ["the loop within an expression", "async function*loop", "var f=async function*loop", "by itself"],
    ["a loop that does not compact", "tengu_auto_compact_succeeded", "other", "does not compact"],
    ["no session", "S.sessionId}", "S.other}", "names the session was found nowhere"],
    [
      "two sessions",
      "async function micro",
      "function b(){return T.sessionId}async function micro",
      "2 times",
    ],
    ["no compaction", "{compactionResult:c}", "{other:c}", "compaction was found nowhere"],
    [
      "a compaction within another function",
      "let{compactionResult:c}=await compact(m,t);",
      "let c,f=async()=>{let{compactionResult:d}=await compact(m,t)};",
      "function of its own",
    ],
    [
      "a compaction in the middle of something",
      "let{compactionResult:c}=await",
      "for(let{compactionResult:c}=await compact(m,t);0;);let{x:c}=await",
      "by itself",
    ],
    ["a compaction of something else", "compact(m,t)", "compact([m],t)", "not in a variable"],
    ["no context", "compact(m,t)", "compact(m)", "not in a variable"],
    ["a constant", "let m=", "const m=", "cannot be replaced"],
    ["another context", "t.abortController", "0", "subagents"],
    ["no micro-compaction", "m=r.messages", "0", "own shortening"],
    ["something else that is sent", "api({messages:m})", "api({messages:a})", "not what is sent"],
    ["no summary", "tasked with summarizing", "tasked", "what a compaction sends"],
    ["two summaries", "[...a.slice(0),q]", "[...a,q],more:[...a,q]", "what a compaction sends"],
  ])("is not found in a bundle with %s", (_, from, to, why) => {
    // Elsewhere, the loop uses it, too.
    const text =
      why === "not what is sent" ? bundle([from, to], ["messages:m}", "messages:a}"]) : bundle([from, to])
    expect(findPlace(text)).toEqual({ why: expect.stringContaining(why) })
    expect(patchedText(text, BINARY)).toEqual({ why: expect.any(String) })
  })

  test("is not found in a bundle that was cut off anywhere", () => {
    const text = bundle()
    const end = text.indexOf("if(process.argv")
    for (let length = 0; length < end; length += 7)
      expect(findPlace(text.slice(0, length))).toHaveProperty("why")
  })
})

describe("a patched bundle", () => {
  test("is the bundle with some text of ours, and valid", () => {
    const text = bundle()
    const { text: after, insertions } = patched(text)
    expect(() => new Bun.Transpiler({ loader: "js" }).scan(after)).not.toThrow()
    const without = insertions.reduceRight((left, one) => {
      const at = left.lastIndexOf(one.text)
      return left.slice(0, at) + left.slice(at + one.text.length)
    }, after)
    expect(without).toBe(text)
    expect(after).toContain("m=await _aggressiveTextPrune(m,t);")
    expect(after).toContain("_ctxbridgeSummarised(a.slice(0))")
    expect(after).toContain(JSON.stringify(BINARY))
    expect(after).toContain("session = sid()")
  })

  test("is not patched again, by us or after another tool", () => {
    expect(patchIn(bundle())).toBeUndefined()
    const { text } = patched(bundle())
    expect(patchIn(text)).toBe("ours")
    expect(patchedText(text, BINARY)).toEqual({ why: "it is patched already" })
    const foreign = bundle(["let{compact", "m=_aggressiveTextPrune(m);let{compact"])
    expect(patchIn(foreign)).toBe("another")
    expect(patchedText(foreign, BINARY)).toEqual({ why: "it is patched already" })
  })

  test("is shown by what is inserted", () => {
    const text = bundle()
    const lines = insertionDiff(text, patched(text).insertions)
    expect(lines.filter((line) => line.startsWith("@@"))).toHaveLength(4)
    expect(lines).toContain("+/*ctxbridge:prune*/m=await _aggressiveTextPrune(m,t);/*ctxbridge:prune:end*/")
    expect(lines.find((line) => line.includes("…let{compactionResult:c}"))).toBeDefined()
  })
})

test("what kind of program a file is", () => {
  const kind = (text: string, file = "/bin/claude") => {
    const found = programKind(file, Buffer.from(text, "latin1"))
    return "format" in found ? found.format : "runner" in found ? found.runner : found.kind
  }
  expect(kind("\x7fELF\x02\x01")).toBe("ELF")
  expect(kind("\xcf\xfa\xed\xfe")).toBe("Mach-O")
  expect(kind("\xca\xfe\xba\xbe")).toBe("Mach-O")
  expect(kind("MZ\x90\0")).toBe("PE")
  expect(kind("#!/usr/bin/env node\nx")).toBe("node")
  expect(kind("#!/usr/bin/env -S bun run\nx")).toBe("bun")
  expect(kind("#!/bin/sh\nexec node x")).toBe("script")
  expect(kind("import x", "/a/cli.js")).toBe("node")
  expect(kind("import x", "/a/cli")).toBe("unknown")
  expect(kind("a\0b", "/a/cli.js")).toBe("unknown")
  expect(kind("", "/a/cli.js")).toBe("node")
})
