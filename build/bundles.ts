/**
 * Runs before the build: makes one module of each program that must start at once, with all that it imports
 * statically, the vectors' kernel, and the script of the page of sessions. src/main.ts and src/find/embed/ import what is made.
 *
 * Otherwise the bundler splits the code into dozens of chunks, according to which commands share it, and every chunk
 * costs time at each start (docs/adr/0013). What is imported dynamically or required stays in src/ and is shared with
 * the other commands.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import wabt from "wabt"

const ROOT = join(import.meta.dir, "..")

/** The system that the binary is for, as its programs know it: the last argument, or this one. */
const platform = process.argv[2] ?? process.platform

/** All paths are relative to the repository. */
interface Bundle {
  /** What the program begins with. */
  readonly entry: string
  /** Where the module and Bun's report on it (meta.json) are written. */
  readonly folder: string
  /** What is imported dynamically or required but nearly always: part of the module, and run when it is asked for. */
  readonly within?: readonly (string | RegExp)[]
  /** What is imported dynamically, and the module that was made of it. */
  readonly made?: Readonly<Record<string, string>>
  /** What a package imports, and a file of ours in its place. */
  readonly instead?: Readonly<Record<string, string>>
}

/** The table of agents, and what decodes their lines: for programs that show or index any. */
const DECODERS = [
  "src/agents/agent-table.ts",
  "src/claude/claude-code.ts",
  /^src\/agents\/(?!install\/)[^/]+\/(?!.+-hooks)/,
]

/** Each is made after those that it names in `made`. */
const BUNDLES: readonly Bundle[] = [
  // What a hook loads besides when it restores. Most have to index something first.
  { entry: "src/hook/reply.ts", folder: "dist/reply", within: ["src/views/indexing.ts", ...DECODERS] },
  // How other agents than Claude Code call hooks, and whose paths are.
  { entry: "src/agents/agent-table.ts", folder: "dist/agents", within: [/^src\/agents\/.+-hooks\.ts$/] },
  {
    entry: "src/hook/other-agents.ts",
    folder: "dist/others",
    made: { "src/agents/agent-table.ts": "dist/agents/agent-table.js" },
  },
  // Claude Code waits for it before each command and edit, while `recall.actions` is on.
  { entry: "src/hook/before-action.ts", folder: "dist/action" },
  // The user waits for a hook at every prompt.
  {
    entry: "src/hook/run.ts",
    folder: "dist/hook",
    made: {
      "src/hook/reply.ts": "dist/reply/reply.js",
      "src/hook/other-agents.ts": "dist/others/other-agents.js",
      "src/agents/agent-table.ts": "dist/agents/agent-table.js",
    },
  },
  // A search is asked while somebody types or thinks. The router is inside, for help, errors and exit codes.
  { entry: "src/cli/run-search.ts", folder: "dist/search", within: DECODERS },
  // Each session of Claude Code starts a server. The SDK's validator of JSON Schema, a third of the module, is left out:
  // it is for forms that a server has the user fill in, and ours has none (`NO_FORMS` in src/cli/server/sdk.ts).
  {
    entry: "src/cli/run-server.ts",
    folder: "dist/mcp",
    within: [
      ...DECODERS,
      "src/cli/server/server.ts",
      "src/find/elsewhere.ts",
      "src/find/search-steps.ts",
      "src/find/nothing-found.ts",
    ],
    instead: { "@modelcontextprotocol/server/_shims": "build/mcp-shims.ts" },
  },
]

for (const bundle of BUNDLES) await makeOneModule(bundle)
await makeKernel("src/find/embed/dot-kernel.wat", "dist/kernel")
await makePageScript("src/cli/pages/html/search.js", "dist/page")

async function makeOneModule({ entry, folder, within = [], made = {}, instead = {} }: Bundle): Promise<void> {
  const target = join(ROOT, folder)
  const isWithin = (path: string, importer: string): boolean => {
    const wanted = relative(ROOT, resolve(dirname(importer), path))
    return within.some((one) => (one instanceof RegExp ? one.test(wanted) : one === wanted))
  }
  const later: Bun.BunPlugin = {
    name: "later",
    setup(build) {
      for (const [name, file] of Object.entries(instead)) {
        build.onResolve({ filter: new RegExp(`^${RegExp.escape(name)}$`) }, () => ({
          path: join(ROOT, file),
        }))
      }
      // What is part of the module anyway need not wait in a function, which all that it imports would have to do, too.
      build.onLoad({ filter: /[\\/]src[\\/]agents[\\/][^\\/]+\.ts$/ }, ({ path }) => {
        const imports: string[] = []
        const contents = readFileSync(path, "utf8").replace(
          /\brequire\(("[^"]+")\)/g,
          (whole, file: string) => {
            if (!isWithin(JSON.parse(file), path)) return whole
            const name = `required${imports.length}`
            imports.push(`import * as ${name} from ${file}\n`)
            return name
          },
        )
        return { contents: contents + imports.join(""), loader: "ts" }
      })
      build.onResolve({ filter: /^\./ }, ({ kind, path, importer }) => {
        if (kind !== "dynamic-import" && kind !== "require-call") return undefined
        if (isWithin(path, importer)) return undefined
        const wanted = relative(ROOT, resolve(dirname(importer), path))
        return { path: relative(target, join(ROOT, made[wanted] ?? wanted)), external: true }
      })
    },
  }
  const built = await Bun.build({
    entrypoints: [join(ROOT, entry)],
    target: "bun",
    format: "esm",
    metafile: true,
    // What only other systems need is left out, which makes hooks start sooner.
    define: { "process.platform": JSON.stringify(platform) },
    minify: { syntax: true },
    root: ROOT,
    plugins: [later],
  })
  const [module] = built.outputs
  if (module === undefined || built.outputs.length !== 1) throw new Error(`${entry} is not one module`)
  mkdirSync(target, { recursive: true })
  // A name of the bundler's own, which it would not recognise when it makes the binary.
  const code = (await module.text()).replaceAll('__require("../', 'require("../')
  writeFileSync(join(target, basename(entry).replace(/\.ts$/, ".js")), code)
  writeFileSync(join(target, "meta.json"), JSON.stringify(built.metafile))
}

/** One script of what a page's script shares with the program that makes the page. */
async function makePageScript(entry: string, folder: string): Promise<void> {
  const { outputs } = await Bun.build({
    entrypoints: [join(ROOT, entry)],
    target: "browser",
    format: "iife",
    minify: true,
  })
  const code = await outputs[0]!.text()
  // It stands within a page.
  if (/<\/script|<!--/i.test(code)) throw new Error(`${entry} would end its own element`)
  mkdirSync(join(ROOT, folder), { recursive: true })
  writeFileSync(join(ROOT, folder, "search.js"), code)
}

/** Compiles the function of WebAssembly that multiplies vectors. */
async function makeKernel(source: string, folder: string): Promise<void> {
  const { parseWat } = await wabt()
  const module = parseWat(source, readFileSync(join(ROOT, source)), { simd: true })
  module.validate()
  mkdirSync(join(ROOT, folder), { recursive: true })
  writeFileSync(join(ROOT, folder, "dot.wasm"), module.toBinary({}).buffer)
}
