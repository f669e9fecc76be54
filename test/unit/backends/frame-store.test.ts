/** What others have written about a piece of a vault is checked before it names any file. */
import { expect, test } from "bun:test"
import { isPieceAbout } from "../../../src/backends/frame-store.ts"
import { piece } from "./frame-contract.ts"

test("what leads out of the vault, or is damaged, is about no piece", () => {
  const { frame: _, ...good } = piece("x\n")
  expect(isPieceAbout(good)).toBe(true)
  for (const bad of [
    { place: "home/../../etc/x.jsonl.zst" },
    { place: "/home/x.zst" },
    { place: "home//x.zst" },
    { place: "fetched/x/y/home/x.zst" },
    { place: "home/x.jsonl" },
    { place: "home/a\0b.zst" },
    { writer: "../x" },
    { copy: "a/b" },
    { copy: "" },
    { path: "relative.jsonl" },
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
