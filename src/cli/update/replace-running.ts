/** One update at a time, with the binary in whose place the new one goes. */

import { accessSync, closeSync, constants, readFileSync } from "node:fs"
import { CtxError, codeOf, throwBusy, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { openForLock } from "../../base/folder-lock.ts"
import { realpathSync } from "../../base/fs.ts"
import { lock } from "../../base/lock.ts"
import { dirname } from "../../base/path.ts"

/** ms to wait for an update that is nearly done. */
const PATIENCE = 1000

/**
 * The file that hooks and shells start.
 *
 * @param exePath our own path
 * @throws CtxError where it cannot be replaced
 */
export function ownBinary(exePath: string): string {
  if (!Bun.isStandaloneExecutable)
    throw usageError("only a compiled ctxbridge can be updated", "npm run build")
  const binary = realpathSync(exePath)
  const manager = managerOf(binary)
  if (manager !== undefined) {
    throw new CtxError("not-ours", `${binary} belongs to ${manager.name}`, {
      hint: `update it with ${manager.update}`,
    })
  }
  const folder = dirname(binary)
  try {
    accessSync(folder, constants.W_OK)
  } catch (cause) {
    throw new CtxError(
      "not-ours",
      `${binary} cannot be replaced: ${codeOf(cause) || "its folder is read-only"}`,
      {
        hint: "update it the way it was installed",
        cause,
      },
    )
  }
  return binary
}

/** Runs `work` while nobody else updates this binary. The lock is on its folder, so that it leaves no file behind. */
export async function holdingBinary<T>(binary: string, work: () => Promise<T> | T): Promise<T> {
  const folder = openForLock(dirname(binary))
  try {
    if (!lock(folder, performance.now() + PATIENCE)) throwBusy("another update of this binary is running")
    return await work()
  } finally {
    closeSync(folder)
  }
}

const textOf = (file: string): string => tryTo(() => readFileSync(file, "utf8")) ?? ""

/** The name of this machine in a release. */
export function thisPlatform(): string {
  const { platform, arch } = process
  const found = platformOf({
    platform,
    arch,
    maps: textOf("/proc/self/maps"),
    cpu: textOf("/proc/cpuinfo"),
    isTranslated: platform === "darwin" && arch === "x64" && isTranslated(),
  })
  if (found !== undefined) return found
  throw new CtxError("unsupported", `there are no releases for ${platform}-${arch}`, {
    hint: "build it from a checkout",
  })
}

const isTranslated = (): boolean =>
  tryTo(() => String(Bun.spawnSync(["sysctl", "-n", "sysctl.proc_translated"]).stdout).trim()) === "1"

/** Which of a release's binaries is for this machine, by the names of build/release/targets.ts. Pure. */

interface MachineFacts {
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

/** Who keeps a binary, by where it lies: an update of ours would be undone by its package manager, or break it. Pure. */

interface PackageManager {
  readonly name: string
  /** The command that updates us. */
  readonly update: string
}

const MANAGERS: readonly (PackageManager & { readonly place: RegExp })[] = [
  { name: "npm", update: "npm install -g ctxbridge", place: /[\\/]node_modules[\\/]/ },
  { name: "Homebrew", update: "brew upgrade ctxbridge", place: /\/Cellar\// },
  { name: "Nix", update: "nix profile upgrade ctxbridge", place: /^\/nix\/store\// },
  {
    name: "the system's package manager",
    update: "apt, pacman or whatever has installed it",
    place: /^\/usr\/bin\//,
  },
]

/** @param binary its own path, without links */
export const managerOf = (binary: string): PackageManager | undefined =>
  MANAGERS.find(({ place }) => place.test(binary))

/**
 * Whether a binary lies as the installers put it: a checkout's own build does not. On Windows nothing that runs can be
 * removed.
 *
 * @param binary its own path, without links
 */
export const isRemovable = (binary: string): boolean =>
  managerOf(binary) === undefined && binary.endsWith("/bin/ctxbridge")
