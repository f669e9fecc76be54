import { expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { encodeHeader } from "../../../src/vault/frame.ts"
import { sources } from "../../../src/views/view-sources.ts"

test("a copy comes after what was set aside for it, whatever its clock says", () => {
  const dataHome = mkdtempSync(join(tmpdir(), "ctxbridge-source-"))
  try {
    const folder = join(dataHome, "vault", "home", "p")
    mkdirSync(folder, { recursive: true })
    const copy = (name: string, created: number): void =>
      writeFileSync(join(folder, name), encodeHeader({ id: name, path: "/h/p/a.jsonl", created }))
    copy("a.jsonl.zst", 10)
    copy("a.~1.jsonl.zst", 20)
    copy("a.~2.jsonl.zst", 15)
    copy("b.jsonl.zst", 12)
    expect(sources(dataHome).map((one) => one.copy)).toEqual(
      ["b.jsonl.zst", "a.~1.jsonl.zst", "a.~2.jsonl.zst", "a.jsonl.zst"].map((name) => `home/p/${name}`),
    )
  } finally {
    rmSync(dataHome, { recursive: true })
  }
})
