/** What SHA256SUMS says of a release: its versions, its files and their sums. Pure. */
import { withoutBaseline } from "./platform.ts"

/** Sums by name of the file. */
export type ReleaseSums = ReadonlyMap<string, string>

export function parseSums(text: string): ReleaseSums {
  const found = [...text.matchAll(/^([0-9a-f]{64}) [ *]([\w.+-]+)$/gm)]
  return new Map(found.map(([, sum, name]) => [name!, sum!]))
}

/** A binary that a release has. */
export interface Offer {
  readonly version: string
  readonly platform: string
  /** Name of the binary; packed, with `.gz` behind it. */
  readonly name: string
  readonly sum: string
  readonly packedSum: string
}

/** All that is for this platform, the newest first. */
export function offersFor(sums: ReleaseSums, platform: string): Offer[] {
  const offers: Offer[] = []
  for (const [name, sum] of sums) {
    const version = versionIn(name, platform)
    const packedSum = sums.get(`${name}.gz`)
    if (version !== undefined && packedSum !== undefined)
      offers.push({ version, platform, name, sum, packedSum })
  }
  const plain = withoutBaseline(platform)
  if (offers.length === 0 && plain !== undefined) return offersFor(sums, plain)
  return offers.sort((a, b) => compareVersions(b.version, a.version))
}

function versionIn(name: string, platform: string): string | undefined {
  const end = `-${platform}${platform.startsWith("windows-") ? ".exe" : ""}`
  if (!name.startsWith("ctxbridge-") || !name.endsWith(end)) return undefined
  const version = name.slice("ctxbridge-".length, -end.length)
  return isVersion(version) ? version : undefined
}

export const isVersion = (text: string): boolean => /^\d+\.\d+\.\d+(-[\w.+-]+)?$/.test(text)

/** As semver.org orders them, but for what stands behind a plus sign, which we do not use. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [a, b].map(split) as [Parts, Parts]
  for (let n = 0; n < 3; n++) {
    const difference = first.numbers[n]! - second.numbers[n]!
    if (difference !== 0) return difference
  }
  if (first.rest === "" || second.rest === "") return second.rest.length - first.rest.length
  return comparePrereleases(first.rest.split("."), second.rest.split("."))
}

interface Parts {
  readonly numbers: readonly number[]
  readonly rest: string
}

function split(version: string): Parts {
  const [main = "", ...rest] = version.split("-")
  return { numbers: main.split(".").map(Number), rest: rest.join("-") }
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  for (let n = 0; n < Math.min(a.length, b.length); n++) {
    const [one, other] = [a[n]!, b[n]!]
    if (one === other) continue
    const [x, y] = [one, other].map((part) => (/^\d+$/.test(part) ? Number(part) : Number.NaN)) as [
      number,
      number,
    ]
    // Numbers come before words.
    if (Number.isNaN(x) && Number.isNaN(y)) return one < other ? -1 : 1
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1
    return x - y
  }
  return a.length - b.length
}
