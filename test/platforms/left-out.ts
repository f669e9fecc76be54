/** How the e2e tests are run with another system's binary: how slow it is here, and which tests cannot pass there, and why. */

interface LeftOut {
  readonly why: string
  /** Names of whole files, without `.test.ts`. */
  readonly files?: readonly string[]
  /** Starts of single tests' names, the groups' before them. */
  readonly tests?: readonly string[]
}

interface Trial {
  /** CTXBRIDGE_TEST_SLOWNESS: time limits are multiplied by it. */
  readonly slowness: number
  readonly leftOut: readonly LeftOut[]
}

const AS_ANYWHERE: Trial = { slowness: 1, leftOut: [] }

const TRIALS: Readonly<Record<string, Trial>> = {
  "linux-x64-musl": {
    slowness: 1,
    leftOut: [
      {
        why: "needs the native ONNX Runtime; this build has the one of WebAssembly",
        files: ["model", "model-changes", "native-library"],
      },
      { why: "its roots have glibc's loader only", files: ["install-empty-root"] },
    ],
  },
  // Under Wine only the tests that are made for it are run.
  "windows-x64": { slowness: 10, leftOut: [] },
  // Under qemu a start takes 0.7 s.
  "linux-arm64": {
    slowness: 20,
    leftOut: [
      { why: "its roots have no loader for arm64", files: ["install-empty-root"] },
      { why: "loads a library of this machine into the binary", files: ["locks"] },
      {
        why: "ONNX Runtime's native library ends with a segmentation fault under qemu 7.2, under Node, too",
        files: ["embed", "mcp-by-meaning", "model", "model-changes", "native-library"],
      },
      {
        why: "their releases are for the machine that runs the tests",
        files: ["update", "packages"],
        tests: ["`update`"],
      },
      {
        why: "no file may grow (ulimit -f 0), which ends Bun under qemu",
        tests: [
          "no room for an index of the log where no file may grow",
          "hooks that find no room leave no files",
          "an archive of another tool's where there is no room for a copy",
        ],
      },
      {
        why: "a hook's work takes longer than the 4 s that it may be given",
        files: ["secret-formats"],
        tests: [
          "a prompt of megabytes is remembered by its beginning",
          "startup tells where the project was left",
          "names in other letters (skipped where nobody but root may mount a file system of its own, with /dev/fuse) the demo",
        ],
      },
      {
        why: "doctor runs six hooks at once, which takes longer than the 5 s of each",
        tests: [
          "a machine where all is well names variables that ask for what this version does not have",
          "transcripts that cannot be read install goes on, and doctor calls the host no failure",
        ],
      },
      {
        why: "starts the binary hundreds of times",
        files: [
          "bench-torture",
          "fuzz",
          "golden-replies",
          "job",
          "killed-commands",
          "lock-order",
          "poison",
          "rebuild",
          "torture",
          "writers-at-once",
        ],
      },
    ],
  },
}

/** @param target a name in build/release/targets.ts */
export const trialOf = (target: string): Trial => TRIALS[target] ?? AS_ANYWHERE

/** Matches the names of all tests but those left out, for `bun test --test-name-pattern`; undefined if none is. */
export function patternOf({ leftOut }: Trial): string | undefined {
  const starts = leftOut.flatMap(({ tests }) => tests ?? []).map((start) => RegExp.escape(start))
  return starts.length === 0 ? undefined : `^(?!${starts.join("|")})`
}
