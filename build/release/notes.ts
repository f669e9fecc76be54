/** What people read of a release: which file is for which machine, how large it is, how fast it starts. */
import { MINILM } from "../../src/find/embed/model-manifest.ts"
import type { Target } from "./targets.ts"

export interface Made {
  readonly target: Target
  readonly file: string
  readonly bytes: number
  readonly packedBytes: number
  readonly sha256: string
  /** Minimum ms of a start; undefined where the binary does not run on the build machine. */
  readonly startMs: number | undefined
  /** Whether another kind of processor was imitated for that. */
  readonly isEmulated: boolean
}

const MACHINES: Readonly<Record<string, string>> = {
  "linux-x64": "Linux, x64 (glibc)",
  "linux-x64-baseline": "Linux, x64 without AVX2 (glibc)",
  "linux-x64-musl": "Linux, x64 (musl)",
  "linux-x64-musl-baseline": "Linux, x64 without AVX2 (musl)",
  "linux-arm64": "Linux, arm64 (glibc)",
  "linux-arm64-musl": "Linux, arm64 (musl)",
  "darwin-x64": "macOS, Intel",
  "darwin-arm64": "macOS, Apple silicon",
  "windows-x64": "Windows, x64",
  "windows-x64-baseline": "Windows, x64 without AVX2",
  "windows-arm64": "Windows, arm64",
}

const mb = (bytes: number): string => (bytes / 1e6).toFixed(1)

export interface Origin {
  /** Whether the binaries carry the sentence model. */
  readonly hasModel: boolean
  readonly version: string
  readonly commit: string
  readonly dirty: boolean
  readonly bun: string
}

const CARRIED =
  "The binaries carry the model for search by meaning (all-MiniLM-L6-v2, Apache-2.0), so nothing has to be downloaded for it."
const NOT_CARRIED =
  "The binaries carry no model for search by meaning: `ctxbridge model install` downloads it (`npm run release -- --model DIR` puts it in)."

export function notesOf(
  { version, commit, dirty, bun, hasModel }: Origin,
  all: readonly Made[],
  twins: readonly (readonly [Target, Target])[],
): string {
  const same = twins.map(
    ([target, other]) =>
      `${MACHINES[target.name]}: with this Bun the same bytes as \`${other.name}\`, so there is no file of its own.\n`,
  )
  const rows = all.map(({ target, file, bytes, packedBytes, startMs, isEmulated }) => {
    const start =
      startMs === undefined ? "not run here" : `${startMs.toFixed(0)} ms${isEmulated ? " (emulated)" : ""}`
    const runtime = target.runtime === "none" ? "WebAssembly" : "native"
    return `| ${MACHINES[target.name]} | \`${file}\` | ${mb(bytes)} MB | ${mb(packedBytes)} MB | ${runtime} | ${start} |`
  })
  return `# ctxbridge ${version}

| For | File | Size | \`.gz\` | ONNX Runtime | Start |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}

${same.join("\n")}
${hasModel ? CARRIED : NOT_CARRIED}

"Start" is the shortest of ten runs of \`ctxbridge --version\` on the build machine, from a warm cache.

Check what you have downloaded with \`sha256sum -c --ignore-missing SHA256SUMS\`. \`install.sh\` and
\`ctxbridge update\` do so themselves.

Built from commit ${commit}${dirty ? " and uncommitted changes" : ""} with Bun ${bun}.
`
}

/** How to make the same bytes. */
export function provenanceOf(
  { version, commit, dirty, bun, hasModel }: Origin,
  all: readonly Made[],
  targets: readonly Target[],
): string {
  const note = {
    name: "ctxbridge",
    version,
    commit,
    uncommittedChanges: dirty,
    bun,
    repeat: [
      `git checkout ${commit}`,
      "npm run setup",
      `npm run release -- --targets ${targets.map(({ name }) => name).join(",")}${hasModel ? " --model DIR" : ""}`,
    ],
    ...(hasModel && { model: MINILM }),
    files: all.map(({ target, file, bytes, sha256 }) => ({
      file,
      target: target.bun,
      onnxRuntime: target.runtime,
      bytes,
      sha256,
    })),
  }
  return `${JSON.stringify(note, null, 2)}\n`
}
