/** Which of a release's binaries is for this machine, by the names of build/release/targets.ts. Pure. */

export interface MachineFacts {
  readonly platform: string
  readonly arch: string
  /** Text of /proc/self/maps, which names the C library's loader; empty where there is none. */
  readonly maps: string
  /** Text of /proc/cpuinfo; empty where there is none. */
  readonly cpu: string
  /** Whether a program for Intel is being translated for Apple silicon. */
  readonly isTranslated: boolean
}

const BASELINE = "-baseline"

/** undefined: no release has one. */
export function platformOf({ platform, arch, maps, cpu, isTranslated }: MachineFacts): string | undefined {
  if (arch !== "x64" && arch !== "arm64") return undefined
  if (platform === "darwin") return `darwin-${isTranslated ? "arm64" : arch}`
  // What its processor knows cannot be read there.
  if (platform === "win32") return `windows-${arch}${arch === "x64" ? BASELINE : ""}`
  if (platform !== "linux") return undefined
  const musl = maps.includes("/ld-musl-") ? "-musl" : ""
  return `linux-${arch}${musl}${arch === "x64" && !cpu.includes("avx2") ? BASELINE : ""}`
}

/** A release leaves the baseline out if it is the same binary; undefined for a platform that is none. */
export const withoutBaseline = (platform: string): string | undefined =>
  platform.endsWith(BASELINE) ? platform.slice(0, -BASELINE.length) : undefined
