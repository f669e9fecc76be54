/** How cloud drives, programs and people name what they make of a file. */
import { join } from "node:path"

/** Of `x.1.jsonl`. */
export const CONFLICTED = [
  "x.1 (conflicted copy 2026-01-01).jsonl",
  "x.1 (Ada's conflicted copy 2026-01-01).jsonl",
  "x.1 (1).jsonl",
  "x.1-LAPTOP.jsonl",
  "x.1 2.jsonl",
  "x.1 - Copy.jsonl",
  "x.1_conflict-20260101-120000.jsonl",
  "x.1.sync-conflict-20260101-120000-7ABCDEF.jsonl",
  "x.1 [conflicted].jsonl",
  "Copy of x.1.jsonl",
  "x.1.jsonl (1)",
  "x.1.jsonl.orig",
]

/** @param pattern one of these */
export const conflicted = (file: string, pattern: string): string =>
  join(file, "..", pattern.replace("x.1", /([^/]+)\.jsonl$/.exec(file)![1]!))
