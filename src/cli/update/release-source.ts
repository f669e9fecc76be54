/** Where releases are: at an address or in a folder. Gets from there what `ctxbridge update` needs. */
import { existsSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { addressOf } from "../../embed/download.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import { join, resolve } from "../../util/path.ts"
import { addressShown } from "../../util/shown-address.ts"
import { fetchFile, fetchText } from "./fetch-release.ts"
import { parseSums, type ReleaseSums } from "./release-sums.ts"

const SUMS = "SHA256SUMS"

export interface ReleaseSource {
  /** As people know it. */
  readonly shown: string
  /** What SHA256SUMS says; undefined if there is none. */
  sums(): Promise<ReleaseSums | undefined>
  /**
   * @param part where it is written if it must be fetched; goes on with what is there
   * @returns where the file is
   */
  file(name: string, part: string, onProgress: (done: number, total: number) => void): Promise<string>
  /** Where one version is, if the newest is elsewhere. */
  ofVersion(version: string): ReleaseSource
}

/**
 * @param text an https address, file:// or a folder
 * @throws CtxError for an address that must not be used
 */
export function releaseSource(text: string, cwd: string): ReleaseSource {
  if (/^file:\/\/\//i.test(text)) return folderSource(resolve(fileURLToPath(text)))
  const url = addressOf(text)
  return url === undefined ? folderSource(resolve(cwd, text)) : addressSource(url)
}

function folderSource(folder: string): ReleaseSource {
  return {
    shown: folder,
    sums: async () => {
      const file = join(folder, SUMS)
      return existsSync(file) ? parseSums(readFileSync(file, "utf8")) : undefined
    },
    file: async (name) => {
      const file = join(folder, name)
      if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file
      throw new CtxError("no-release", `${folder} has no ${name}, which its ${SUMS} names`, {
        exit: EXIT.notFound,
      })
    },
    ofVersion: (version) => folderSource(join(folder, `v${version}`)),
  }
}

/** GitHub has the newest release at one address, and each at one of its own. */
const NEWEST = /\/releases\/latest\/download$/

function addressSource(base: URL): ReleaseSource {
  const address = base.href.replace(/\/+$/, "")
  const at = (name: string): URL => new URL(`${address}/${name}`)
  return {
    shown: addressShown(address),
    sums: async () => {
      const text = await fetchText(at(SUMS))
      return text === undefined ? undefined : parseSums(text)
    },
    file: async (name, part, onProgress) => {
      await fetchFile(at(name), part, onProgress)
      return part
    },
    ofVersion: (version) =>
      addressSource(
        new URL(
          NEWEST.test(address)
            ? address.replace(NEWEST, `/releases/download/v${version}`)
            : `${address}/v${version}`,
        ),
      ),
  }
}
