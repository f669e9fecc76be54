/** Folders of packages, made from texts and from files of the release. */
import { chmodSync, copyFileSync, linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

export interface PackageFile {
  /** A text, or bytes. */
  readonly content?: string | Uint8Array
  /** A file that is taken as it is; a second name for it where the disk allows that. */
  readonly from?: string
  readonly executable?: boolean
}

export type PackageFiles = ReadonlyMap<string, PackageFile>

/** Replaces the folder. Modes do not depend on the umask, so that packages made of it have the same bytes. */
export function writePackage(folder: string, files: PackageFiles): void {
  rmSync(folder, { recursive: true, force: true })
  for (const [path, { content, from, executable = false }] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    if (content !== undefined) writeFileSync(file, content)
    if (from !== undefined) linkOrCopy(from, file)
    if (from === undefined || executable) chmodSync(file, executable ? 0o755 : 0o644)
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
  }
}
