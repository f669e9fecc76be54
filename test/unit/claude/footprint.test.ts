/** What an uninstall takes for ours. */
import { expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { pieces } from "../../../src/claude/install/footprint.ts"

const SRC = join(import.meta.dir, "../../../src")
/** The home within the home, and a path that only names the origin of copies. */
const OTHERS = ["state", "summaries~"]

/** Names in the data folder that the code spells out. */
function namesInCode(): string[] {
  const names = [...new Bun.Glob("**/*.ts").scanSync(SRC)].flatMap((file) =>
    [...readFileSync(join(SRC, file), "utf8").matchAll(/join\([\w.]*\bdataHome, "([^"/]+)/g)].map(
      ([, name]) => name!,
    ),
  )
  return [...new Set(names)].filter((name) => !OTHERS.includes(name)).sort()
}

test("everything that the code makes in the data folder", () => {
  const root = mkdtempSync(join(tmpdir(), "ctxbridge-footprint-"))
  try {
    const [dataHome, stateHome] = [join(root, "data"), join(root, "state")]
    const names = namesInCode()
    expect(names.length).toBeGreaterThan(25)
    mkdirSync(dataHome)
    for (const name of [...names, "somebody-elses.json"]) writeFileSync(join(dataHome, name), "")
    const found = pieces({ dataHome, stateHome }, { made: [], found: [], theirs: [] }).map(({ path }) =>
      basename(path),
    )
    expect(found.sort()).toEqual(names)
  } finally {
    rmSync(root, { recursive: true })
  }
})
