/** Whether a transcript that was archived while it grew gives the views of the whole. */
import { expect } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { Archive } from "./archive.ts"
import { namedViews } from "./views.ts"

interface Written {
  readonly path: string
  readonly lines: readonly string[]
  flush(): unknown
}

/**
 * Takes each beginning, with a piece of the next line, and then the whole.
 *
 * @param named an archive's folder, as agents may write it; default: only as it is
 */
export function expectBeginningsAsWhole(
  made: (archive: Archive) => Written,
  named: readonly ((root: string) => string)[] = [],
): void {
  using whole = new Archive()
  const all = made(whole)
  all.flush()
  whole.follow(all)
  const wanted = namedViews(whole.db)
  for (let n = 1; n < all.lines.length; n++) {
    using archive = new Archive()
    const { path } = made(archive)
    const text = all.lines.join("").replaceAll(whole.root, archive.root)
    const at = text.split("\n").slice(0, n).join("\n").length + 20
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text.slice(0, at))
    archive.follow({ path })
    writeFileSync(path, text)
    archive.follow({ path })
    let views = JSON.stringify(namedViews(archive.db)).replaceAll(archive.root, whole.root)
    for (const name of named) views = views.replaceAll(name(archive.root), name(whole.root))
    expect(JSON.parse(views)).toEqual(wanted)
  }
}
