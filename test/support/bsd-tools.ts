/**
 * A PATH as a Mac has one, for scripts: tools that know the options of their manual pages there and refuse all others,
 * `shasum` instead of `sha256sum`, `codesign`, `sysctl`, and a `uname` that says Darwin.
 */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Letters of options, by the manual pages of macOS 15. Those before `:` take a value. */
const OPTIONS: Readonly<Record<string, string>> = {
  cat: "belnstuv",
  chmod: "fhvHLPR",
  cp: "acfilnprsvxHLPRSX",
  curl: "",
  dirname: "",
  env: "0iv",
  gzip: "cdfhklLnNqrtvV123456789",
  mkdir: "pv",
  mktemp: "dqu",
  mv: "fhinv",
  rm: "dfiPRrvxW",
}

export interface BsdTools {
  readonly path: string
  /** What `codesign` appends a line to: the sum of the file as it found it, and its arguments. */
  readonly signed: string
}

/** @param machine as `uname -m` says; @param isTranslated whether its shell is one for Intel, on Apple silicon */
export function bsdTools(folder: string, machine = "arm64", isTranslated = false): BsdTools {
  const path = join(folder, "bsd")
  const signed = join(folder, "signed")
  mkdirSync(path)
  writeFileSync(signed, "")
  const sum = Bun.which("sha256sum") ?? Bun.which("shasum")!
  const write = (name: string, script: string): void =>
    writeFileSync(join(path, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}`, { mode: 0o755 })
  symlinkSync(Bun.which("sh")!, join(path, "sh"))
  for (const [name, letters] of Object.entries(OPTIONS)) {
    const program = Bun.which(name)
    if (program === null) continue
    if (name === "curl") symlinkSync(program, join(path, name))
    else write(name, refusing(name, letters, program))
  }
  const refuse = (name: string): string => `*) echo "${name}: illegal arguments: $*" >&2; exit 64 ;;`
  write(
    "uname",
    `case $* in -s | '') echo Darwin ;; -m) echo ${machine} ;; -sm) echo Darwin ${machine} ;; ${refuse("uname")} esac\n`,
  )
  write(
    "sysctl",
    `case $* in '-n sysctl.proc_translated') echo ${isTranslated ? 1 : 0} ;; ${refuse("sysctl")} esac\n`,
  )
  write(
    "shasum",
    `case $* in '-a 256') exec ${sum} ${sum.endsWith("shasum") ? "-a 256" : ""} ;; ${refuse("shasum")} esac\n`,
  )
  write(
    "codesign",
    `case $* in '--force --sign - '*) ;; ${refuse("codesign")} esac\n${sum} "$4" >>'${signed}'\n`,
  )
  return { path, signed }
}

/** BSD's getopt: no long options, and none after the first operand. */
const refusing = (name: string, letters: string, program: string): string => `
for word in "$@"; do
  case $word in
    --) break ;;
    -*[!${letters}-]* | --?*) echo "${name}: illegal option $word" >&2; exit 64 ;;
    -?*) ;;
    *) break ;;
  esac
done
exec ${program} "$@"
`
