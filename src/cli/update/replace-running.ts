/** One update at a time, with the binary in whose place the new one goes. */
import { accessSync, closeSync, constants, readFileSync } from "node:fs"
import { CtxError, codeOf, throwBusy, usageError } from "../../util/errors.ts"
import { tryTo } from "../../util/files.ts"
import { openForLock } from "../../util/folder-lock.ts"
import { realpathSync } from "../../util/fs.ts"
import { lock } from "../../util/lock.ts"
import { dirname } from "../../util/path.ts"
import { managerOf } from "./package-manager.ts"
import { platformOf } from "./platform.ts"

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
