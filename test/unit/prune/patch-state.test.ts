/** What is told of a program that is patched, could be, or could not. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { encode, hashOf } from "../../../src/base/edited-file.ts"
import { patchState } from "../../../src/prune/patch/apply-patch.ts"
import { patchedText, recordFile } from "../../../src/prune/patch/examine-program.ts"
import { bundle, installedBundle } from "../../support/bundle.ts"
import { tempFolder } from "../../support/temp.ts"

let folder: ReturnType<typeof tempFolder>
let file: string
beforeEach(() => {
  folder = tempFolder()
  file = installedBundle(folder.path)
})
afterEach(() => folder[Symbol.dispose]())

/** As `prune patch` leaves it. */
function patched(binary: string): string {
  const result = patchedText(bundle(), binary)
  if ("why" in result) throw new Error(result.why)
  const hashes = { original: hashOf(encode(bundle())), patched: hashOf(encode(result.text)) }
  writeFileSync(file, result.text)
  writeFileSync(recordFile(file), JSON.stringify({ ...hashes, binary, inserted: "", version: "9.9.9" }))
  return result.text
}

const told = () => {
  const { way, ...rest } = patchState({ file })
  expect(way).toBe("patch")
  return rest
}

test("one that could be patched", () => {
  expect(told()).toEqual({ isActive: false })
})

test("one that is, and asks a program that is there or not", () => {
  patched(process.execPath)
  expect(told()).toEqual({ isActive: true, detail: `patched: ${file}` })
  patched("/nowhere/ctxbridge")
  expect(told()).toMatchObject({ isActive: true, problem: expect.stringContaining("/nowhere/ctxbridge") })
})

test("one that an update has brought instead, which could be patched or not", () => {
  patched(process.execPath)
  writeFileSync(file, bundle(["9.9.9", "9.9.10"]))
  expect(told()).toEqual({ isActive: false, detail: expect.stringContaining("update") })
  writeFileSync(file, "\x7fELF")
  expect(told()).toEqual({ isActive: false, unsupported: expect.stringContaining("native program (ELF)") })
})

test.each([
  ["somebody has changed the patched one", () => `${patched(process.execPath)}//`, "changed since"],
  ["another tool has patched it", () => "#!/usr/bin/env node\n_aggressiveTextPrune", "another tool"],
  ["it is not as others are", () => "#!/usr/bin/env node\n", "found nowhere"],
  ["it is a script", () => "#!/bin/sh\n", "script"],
])("one that cannot be patched: %s", (_, text, why) => {
  writeFileSync(file, text())
  expect(told()).toEqual({ isActive: false, unsupported: expect.stringContaining(why) })
})

test("one that is gone", () => {
  file = join(folder.path, "none")
  expect(told()).toEqual({ isActive: false, unsupported: "it cannot be read" })
})
