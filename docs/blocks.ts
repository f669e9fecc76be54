/** Renders the option table as Markdown, and puts generated blocks into a page. Pure. */

import { markdownTable } from "../src/base/text.ts"
import { keyLabel, PICKER_KEYS } from "../src/cli/picker/query-line.ts"
import { type Key, OPTIONS } from "../src/config/options.ts"
import { OPTIONS_DOC } from "../src/config/options-doc.ts"

const HEAD = ["Option", "Default", "Allowed", "Environment", "In a project's file", "Meaning"]

const cell = (text: string): string => text.replaceAll("|", "\\|")
const code = (text: string): string => `\`${cell(text)}\``

/** One row per option, in the order of the table. Columns are aligned, as the formatter requires. */
export function optionsTable(): string {
  const rows = (Object.keys(OPTIONS) as Key[]).map((key) => {
    const { default: value, allowed, env, scope } = OPTIONS[key]
    const doc = OPTIONS_DOC[key]
    const names = env.map(code).join(", ")
    return [code(key), code(String(value)), cell(allowed), names, scope === "any" ? "yes" : "no", cell(doc)]
  })
  return markdownTable(HEAD, rows).join("\n")
}

/** One row per key of the picker, in the order of its help. */
export function pickerKeysTable(): string {
  const rows = PICKER_KEYS.map(({ keys, about, printing }) => [
    keys.map(keyLabel).map(code).join(", "),
    cell(about),
    cell(printing ?? ""),
  ])
  return markdownTable(["Key", "", "With `--print`"], rows).join("\n")
}

/** What README says of releases. @param address where they are; empty: nothing is published */
export const releasesOffered = (address: string): string =>
  address === ""
    ? "No release is published yet; [packages, a plugin and a script for releases](docs/installing.md) are ready for whoever\npublishes one."
    : `Without a checkout, from [a release](docs/installing.md):\n\n\`\`\`sh\ncurl -fsSL ${address}/install.sh | sh\n\`\`\``

/** What docs/installing.md says of them. */
export const releasesTold = (address: string): string =>
  address === ""
    ? "No release is published yet, so there is no `ADDRESS`: without one, `install.sh` says so and exits with code 64."
    : `\`ADDRESS\` is ${address}, and the installer that lies there knows it.`

const mark = (name: string, end: "begin" | "end"): string => `<!-- ${name}:${end} -->`

/** The text between the block's marks; undefined when the page has no such block. */
export function blockOf(page: string, name: string): string | undefined {
  const begin = mark(name, "begin")
  const from = page.indexOf(begin)
  const to = page.indexOf(mark(name, "end"), from)
  return from < 0 || to < 0 ? undefined : page.slice(from + begin.length, to).trim()
}

/** The page with the block's content replaced; unchanged when it has no such block. */
export function withBlock(page: string, name: string, content: string): string {
  const begin = mark(name, "begin")
  const from = page.indexOf(begin)
  const to = page.indexOf(mark(name, "end"), from)
  if (from < 0 || to < 0) return page
  return `${page.slice(0, from + begin.length)}\n${content}\n${page.slice(to)}`
}
