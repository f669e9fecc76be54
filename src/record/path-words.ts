/** Which words of commands and of prose are paths. Pure. */

import { withSlashes } from "../base/path.ts"
import { shellWords } from "./shell-script.ts"

/** A longer command carries data; its paths are at the beginning. */
const MAX_COMMAND = 20_000

/** Names without a slash count as files only with one of these; otherwise `user.email` and `example.com` look alike. */
const EXTENSIONS = new Set(
  (
    "astro bash bat c cc cfg clj conf cpp cs css csv cue dart diff dockerfile env erl ex exs fish go gradle graphql h " +
    "hcl hpp hs html ini ipynb java jpeg jpg js json json5 jsonc jsonl jsx kt kts less lock log lua md mdx mjs cjs mod " +
    "mts cts nix patch pdf php pl plist png prisma properties proto ps1 py pyi r rb rs rst sass scala scss sh sql " +
    "sqlite sum svelte svg swift tar tex tf tfvars toml ts tsv tsx txt vue wasm xml yaml yml zig zip zsh zst gz"
  ).split(" "),
)

/** Excludes what a shell would expand, and what regular expressions or source code would contain. */
const PATH_CHARACTERS = /^[\p{L}\p{N}_@%+,./~ -]+$/u
const DRIVE = /^[A-Za-z]:[\\/][\p{L}\p{N}_@%+,./\\ -]+$/u
/** `s/a/b/g`, `/a/d`, `/a/` */
const SED_SCRIPT = /^(?:[sy]\/.*\/.*\/[a-zA-Z]*|\/[^/]+\/[a-zA-Z]?)$/

/**
 * Paths named in a shell command, in order, without duplicates. Conservative: leaves out what might be a branch, a URL,
 * a pattern or source code, and the lines of here-documents.
 */
export function commandPaths(command: string): readonly string[] {
  if (latest?.command === command) return latest.paths
  const paths = new Set<string>()
  for (const { word, quoted } of shellWords(command.slice(0, MAX_COMMAND))) {
    const path = asPath(word.slice(word.lastIndexOf("=") + 1).replace(/(?::\d{1,6}){1,2}$/, ""), quoted)
    if (path !== undefined) paths.add(path)
  }
  latest = { command, paths: [...paths] }
  return latest.paths
}

/** Each command is asked for twice: for the files of its turn, and for facts. */
let latest: { readonly command: string; readonly paths: readonly string[] } | undefined

/** A word as a path; undefined if it may be something else. */
export function asPath(word: string, quoted: boolean): string | undefined {
  const path = word.replace(/[,.]+$/, (end) => (/^\.+$/.test(word) ? end : ""))
  if (path.length < 2 || path.length > 1024 || path.startsWith("-")) return undefined
  const rooted = /^(?:~?\/|\.{1,2}\/)/.test(path)
  if (path.includes(" ") && !(quoted && rooted)) return undefined
  if (DRIVE.test(path)) return withSlashes(path)
  if (!PATH_CHARACTERS.test(path) || path.includes("//") || (quoted && SED_SCRIPT.test(path)))
    return undefined
  if (path.startsWith("/dev/") || !/[\p{L}\p{N}]/u.test(path)) return undefined
  if (rooted) return path
  const segments = path.split("/")
  const extension = /[^.]\.([A-Za-z][A-Za-z0-9]{0,9})$/.exec(segments.at(-1) ?? "")?.[1]?.toLowerCase()
  if (extension === undefined) return undefined
  if (segments.length === 1) return EXTENSIONS.has(extension) ? path : undefined
  // `host.tld/…` is an address, `@scope/…` a package.
  const first = segments[0] ?? ""
  return path.startsWith("@") || /[^.]\./.test(first) ? undefined : path
}
