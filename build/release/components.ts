/** What is inside a binary besides our own code, from the bundler's reports, the packages and bun.lock. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { MINILM, MINILM_URL, MODEL_FILE } from "../../src/find/embed/model-manifest.ts"

export interface Component {
  readonly name: string
  readonly version: string
  /** SPDX expression. */
  readonly licence: string
  /** Of its licence files; empty if the package has none. */
  readonly texts: readonly string[]
  readonly purl: string
  /** What CycloneDX calls it. */
  readonly type: "library" | "platform" | "machine-learning-model"
  /** Of the package, or of the model's weights. Undefined: unknown. */
  readonly hash: { readonly alg: "SHA-512" | "SHA-256"; readonly content: string } | undefined
}

const REPORTS = ["meta.json", "hook/meta.json", "reply/meta.json", "search/meta.json", "mcp/meta.json"]

/** What build/runtime.ts takes out of packages, and what these packages have in them. */
const MADE = [
  "@huggingface/transformers",
  "@huggingface/jinja",
  "@huggingface/tokenizers",
  "onnxruntime-node",
  "onnxruntime-web",
]

/** @param inputs paths of files, as in the bundler's reports */
export function packagesOf(inputs: Iterable<string>): string[] {
  const names = new Set<string>()
  for (const input of inputs) {
    const [, name] = /.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? []
    if (name !== undefined) names.add(name)
  }
  return [...names]
}

/** Whose licence file is the text of the model's licence, Apache-2.0. */
const SAME_LICENCE = "@huggingface/transformers"

/** The model, as its authors' page names it; its version is the revision that is pinned. */
function carriedModel(root: string): Component {
  const version = basename(MINILM_URL)
  const { sha256 } = MINILM.files.find(({ path }) => path === MODEL_FILE)!
  return {
    name: "all-MiniLM-L6-v2",
    version,
    licence: "Apache-2.0",
    texts: licenceTexts(join(root, "node_modules", SAME_LICENCE)),
    purl: `pkg:huggingface/Xenova/all-MiniLM-L6-v2@${version}`,
    type: "machine-learning-model",
    hash: { alg: "SHA-256", content: sha256 },
  }
}

/**
 * @param dist where the build has left its reports
 * @param hasModel whether the binaries carry the sentence model
 */
export function componentsOf(root: string, dist: string, hasModel: boolean): Component[] {
  const inputs = REPORTS.flatMap((file) => Object.keys(readJson(join(dist, file)).inputs))
  const names = [...new Set([...packagesOf(inputs), ...MADE, "bun"])].sort()
  const lock = readFileSync(join(root, "bun.lock"), "utf8")
  const packages = names.map((name): Component => {
    const folder = join(root, "node_modules", name)
    const { version, license } = readJson(join(folder, "package.json"))
    if (typeof license !== "string") throw new Error(`${name} does not say its licence`)
    return {
      name,
      version,
      licence: license,
      texts: licenceTexts(folder),
      purl: `pkg:npm/${name.replace("@", "%40")}@${encodeURIComponent(version)}`,
      type: name === "bun" ? "platform" : "library",
      hash: hashIn(integrityOf(lock, name)),
    }
  })
  return [...packages, ...(hasModel ? [carriedModel(root)] : [])].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function hashIn(integrity: string | undefined): Component["hash"] {
  if (integrity === undefined) return undefined
  return { alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") }
}

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"))

function licenceTexts(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice|thirdparty)/i.test(name))
  return names.sort().map((name) => readFileSync(join(folder, name), "utf8").trim())
}

/** @returns `sha512-…` of the package */
export function integrityOf(lock: string, name: string): string | undefined {
  const line = new RegExp(`^ *${RegExp.escape(JSON.stringify(name))}: \\[.*"(sha512-[\\w+/=]+)"\\],?$`, "m")
  return line.exec(lock)?.[1]
}
