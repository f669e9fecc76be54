/** What a release folder offers to package managers: one binary for each system that they know. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Offer, offersFor, parseSums } from "../../src/cli/update/get-binary.ts"
import { TARGETS } from "../release/targets.ts"

export interface Packaged extends Offer {
  /** As in the names of targets, without a baseline: managers do not look at processors' extensions. */
  readonly system: string
}

export interface ReleaseFolder {
  readonly folder: string
  readonly version: string
  readonly binaries: readonly Packaged[]
}

/** Where there is a baseline, it is taken: it runs everywhere. */
export function readRelease(folder: string, version: string): ReleaseFolder {
  const sums = parseSums(readFileSync(join(folder, "SHA256SUMS"), "utf8"))
  const systems = TARGETS.filter(({ name }) => !name.endsWith("-baseline")).map(({ name }) => name)
  const binaries = systems.flatMap((system) => {
    const offer = [`${system}-baseline`, system]
      .flatMap((platform) => offersFor(sums, platform))
      .find((one) => one.version === version)
    return offer === undefined ? [] : [{ ...offer, system }]
  })
  return { folder, version, binaries }
}

export const binaryFor = ({ binaries }: ReleaseFolder, system: string): Packaged | undefined =>
  binaries.find((one) => one.system === system)
