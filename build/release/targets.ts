/** The systems that a release has a binary for. install.sh and `src/cli/update/replace-running.ts` choose by the same names. */

export interface Target {
  /** As in the name of the file. */
  readonly name: string
  /** What Bun calls it. */
  readonly bun: string
  /** Whose native ONNX Runtime is inside: an argument of build/runtime.ts. */
  readonly runtime: string
}

/** npm has no native ONNX Runtime for musl. */
const WEBASSEMBLY = "none"

export const TARGETS: readonly Target[] = [
  { name: "linux-x64", bun: "bun-linux-x64", runtime: "linux-x64" },
  { name: "linux-x64-baseline", bun: "bun-linux-x64-baseline", runtime: "linux-x64" },
  { name: "linux-x64-musl", bun: "bun-linux-x64-musl", runtime: WEBASSEMBLY },
  { name: "linux-x64-musl-baseline", bun: "bun-linux-x64-musl-baseline", runtime: WEBASSEMBLY },
  { name: "linux-arm64", bun: "bun-linux-arm64", runtime: "linux-arm64" },
  { name: "linux-arm64-musl", bun: "bun-linux-arm64-musl", runtime: WEBASSEMBLY },
  { name: "darwin-x64", bun: "bun-darwin-x64", runtime: "darwin-x64" },
  { name: "darwin-arm64", bun: "bun-darwin-arm64", runtime: "darwin-arm64" },
  { name: "windows-x64", bun: "bun-windows-x64", runtime: "win32-x64" },
  { name: "windows-x64-baseline", bun: "bun-windows-x64-baseline", runtime: "win32-x64" },
  { name: "windows-arm64", bun: "bun-windows-arm64", runtime: "win32-arm64" },
]

/** As its programs know the system: `process.platform`. */
export const platformIn = (target: Target): string =>
  isWindows(target) ? "win32" : target.name.slice(0, target.name.indexOf("-"))

export const isWindows = ({ name }: Target): boolean => name.startsWith("windows-")

/** Name of the binary in a release; the compressed one has `.gz` behind it. */
export const fileOf = (version: string, target: Target): string =>
  `ctxbridge-${version}-${target.name}${isWindows(target) ? ".exe" : ""}`

/** @throws Error for a name that is none */
export function targetsNamed(names: string | undefined): readonly Target[] {
  if (names === undefined || names === "all") return TARGETS
  return names.split(",").map((name) => {
    const found = TARGETS.find((target) => target.name === name)
    if (found === undefined) {
      throw new Error(`no target ${name}; there are: ${TARGETS.map((target) => target.name).join(", ")}`)
    }
    return found
  })
}
