/**
 * Who may import whom, and what may be used where (docs/architecture.md). Each rule says why it is there and what to
 * use instead.
 */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { basename, dirname, join, normalize } from "node:path"
import { CLAUDE_CODE_TOOLS } from "../src/claude/claude-code.ts"
import { hookChunk, readMeta } from "./support/built.ts"

const SRC = join(import.meta.dir, "../src")

/** Lowest first. A folder may import itself and the lines above its own; one below another may have a line of its own. */
const LAYERS: readonly (readonly string[])[] = [
  ["secrets"],
  ["base"],
  ["record"],
  ["claude"],
  ["agents"],
  ["config"],
  ["vault"],
  ["claude/settings"],
  ["views"],
  ["sync/targets", "find/embed"],
  ["claude/context", "claude/install"],
  ["agents/install"],
  ["find"],
  ["restore"],
  ["cli/stats"],
  ["cli/pages"],
  ["sync"],
  ["job"],
  ["hook", "cli/server", "claude/fake"],
  ["prune"],
  ["cli/bench"],
  ["cli/doctor"],
  ["cli"],
  ["main.ts"],
]

/** What has one importer only, why, and what everybody else uses. */
const DOORS: Readonly<Record<string, { door: string; reason: string }>> = {
  citty: {
    door: "cli/help.ts",
    reason: "it is loaded for help alone, so that commands start fast; write a Command (cli/command.ts)",
  },
  "jsonc-parser": {
    door: "base/json-text.ts",
    reason: "its `modify` rewrites other people's hooks; use base/json-text.ts",
  },
  "@modelcontextprotocol/server": {
    door: "cli/server/sdk.ts",
    reason: "its transport drops what it cannot parse; describe a Tool (cli/server/tool.ts)",
  },
  acorn: {
    door: "prune/patch/find-place.ts",
    reason: "a whole bundle takes seconds and a gigabyte; parse one function of it with functionAt",
  },
  diff: {
    door: "views/edit-diff.ts",
    reason: "two long texts take minutes; use editDiff, which has a limit",
  },
  postgres: {
    door: "sync/targets/postgres-door.ts",
    reason: "each call needs a deadline of ours; use connect",
  },
  "node:net": {
    door: "sync/targets/postgres-door.ts",
    reason: "only the database client opens sockets, and it can end them",
  },
  "bun:sqlite": {
    door: "views/database.ts",
    reason: "the order of pragmas matters and migrations run there; use views/open.ts and the type Database",
  },
  "bun:ffi": { door: "base/libc.ts", reason: "native calls stay in one place; use tryLock or readable" },
  "@huggingface/transformers": {
    door: "find/embed/transformers.ts",
    reason: "it must see our runtime before it is evaluated, and no server; use openEmbedder",
  },
  "onnxruntime-common": { door: "find/embed/ort-native.ts", reason: "use openEmbedder" },
  "onnxruntime-node": {
    door: "find/embed/runtime-files.ts",
    reason: "a binary holds its files compressed; use openEmbedder",
  },
  "onnxruntime-web": { door: "find/embed/ort-wasm.ts", reason: "use openEmbedder" },
}

/** What build/runtime.ts makes of packages. */
const MADE: Readonly<Record<string, string>> = {
  "../dist/runtime/transformers.js": "@huggingface/transformers",
  "../dist/runtime/ort-wasm.js": "onnxruntime-web",
  "../dist/runtime/wasm.zst": "onnxruntime-node",
  "../dist/runtime/native.json": "onnxruntime-node",
  "../dist/runtime/library.0.zst": "onnxruntime-node",
  "../dist/runtime/library.1.zst": "onnxruntime-node",
  "../dist/runtime/library.2.zst": "onnxruntime-node",
  "../dist/runtime/library.3.zst": "onnxruntime-node",
  "../dist/runtime/binding.node.zst": "onnxruntime-node",
}

/** What nothing imports. */
const BANNED: Readonly<Record<string, string>> = {
  "node:zlib": "costs every start 3 ms (docs/adr/0005); use vault/frame.ts",
  "node:child_process": "use Bun.spawn with childEnvironment() of config/load.ts",
  "node:worker_threads": "start the background job instead (job/spawn.ts)",
  "node:http":
    "only where the user asks for it does ctxbridge use the network, and then with fetch or Bun.serve",
  "node:https": "only where the user asks for it does ctxbridge use the network, and then with fetch",
  "node:dgram": "nothing here needs datagrams",
  "node:process": "`process` is a global",
}

/** What build/bundles.ts makes of a file and all that it imports. */
const BUILT: Readonly<Record<string, string>> = {
  "../dist/hook/run.js": "hook/run.ts",
  "../dist/action/before-action.js": "hook/before-action.ts",
  "../dist/search/run-search.js": "cli/run-search.ts",
  "../dist/mcp/run-server.js": "cli/run-server.ts",
}

/** What build/formats.ts makes of the tables of formats: part of src/secrets/, and read there alone. */
const FROM_TABLES = ["../dist/formats/anchors.js", "../dist/formats/rows.js"]

/** Files that are imported and are no modules. */
const NO_MODULES = [
  "../package.json",
  "../dist/kernel/dot.wasm",
  "../dist/page/search.js",
  "../dist/model/tokenizer.bin",
  "../dist/model/weights.bin",
  "../plugin/skills/recall/SKILL.md",
  "cli/pages/stats.css",
  "agents/install/opencode-plugin.js",
  "prune/patch/inserted.js",
  "prune/plugin/compact-module.js",
  "cli/pages/html/page.css",
  "cli/pages/html/page.js",
  "cli/pages/html/looks.js",
  "cli/pages/html/file.css",
  "cli/pages/html/file.js",
]

/** Where `import()` stands: each is a part of the program that most calls do not need. */
const DYNAMIC_DOORS = [
  "main.ts",
  "agents/agent-table.ts",
  "agents/install/agent-installers.ts",
  "cli/commands.ts",
  "cli/router.ts",
  "cli/commands/mcp.ts",
  "cli/commands/search.ts",
  "cli/picker/picker-archive.ts",
  "cli/picker/run-picker.ts",
  "hook/call.ts",
  "hook/seldom.ts",
  "hook/steps.ts",
  "hook/before-action.ts",
  "hook/run.ts",
  "hook/reply.ts",
  "hook/run-status-line.ts",
  "find/embed/embedder.ts",
  "find/search-steps.ts",
  "sync/targets/open-target.ts",
]

/** Functions of their arguments. So is every file whose first comment says "Pure". */
const PURE: readonly RegExp[] = [
  /^record\//,
  /^prune\/prune-messages\.ts$/,
  /^restore\/(render|explain|complement|pack-names|page|quote|neutral|pointer|material)\.ts$/,
  /^vault\/(frame|layout)\.ts$/,
  /^agents\/(?!install\/)/,
  /^config\/(options|options-doc)\.ts$/,
  /^claude\/install\/(settings-edit|server-edit|status-line|hooks-table)\.ts$/,
  /^base\/(json-text)\.ts$/,
  /^views\/(schema|todos)\.ts$/,
  /^base\/(errors|text)\.ts$/,
]

/** What a pure file may use of Bun: functions of their arguments, too. */
const PURE_BUN =
  /\bBun\.(?!hash\b|Glob\b|CryptoHasher\b|SHA256\b|zstd\w+\b|stringWidth\b|TOML\b|stripANSI\b|wrapAnsi\b|sliceAnsi\b|markdown\b|escapeHTML\b)\w+/

interface WordRule {
  readonly word: RegExp
  readonly allowed: RegExp
  readonly reason: string
}

const WORDS: readonly WordRule[] = [
  {
    word: /\b(process|Bun|import\.meta)\.env\b/,
    allowed: /^config\/load\.ts$/,
    reason: "only config/load.ts reads the environment; take Settings or Environment as an argument",
  },
  {
    word: /\bprocess\.(?:exit|reallyExit)\(/,
    allowed: /^(base\/own-program|cli\/output)\.ts$/,
    reason: "it drops output still in the pipe; return a value or throw a CtxError",
  },
  {
    word: /\bBun\.stdout\b|\bprocess\.stdout\.write\b/,
    allowed: /^$/,
    reason: "stdout belongs to the reply of a hook or to Output; return text, or use out.print",
  },
  {
    word: /\bprocess\.stderr\b/,
    // Of the second, another program's.
    allowed: /^(cli\/output|prune\/patch\/apply-patch)\.ts$/,
    reason: "stderr belongs to the host in hooks; throw a CtxError, or use logError",
  },
  {
    word: /\bconsole\.\w+\(/,
    // The script of a child, which is measured and not ours.
    allowed: /^cli\/bench\/hook-world\.ts$/,
    reason: "use out.print in commands, logError in hooks and the job",
  },
  {
    word: /\b(tryLock|openLock)\(/,
    // The last two wait in their own way.
    allowed: /^(base\/(libc|lock|folder-lock)|views\/(open|replace-database))\.ts$/,
    reason: "use withLockFile or holdLockFile of base/lock.ts, and give the lock its line in docs/files.md",
  },
  {
    word: /\bprocess\.execPath\b/,
    // Looking for processes like ours, and measuring.
    allowed: /^(base\/(own-program|processes)\.ts$|cli\/bench\/)/,
    reason: "it names no file once an update has replaced ours; use ownProgram",
  },
  {
    word: /\bMath\.random\(/,
    allowed: /^$/,
    reason: "not repeatable; take names from a hash, data from cli/bench/seeded-random.ts",
  },
  {
    word: /\b(fetch|Bun\.(serve|listen|connect|udpSocket))\(|\bnew WebSocket\b/,
    // `model install --from <address>`, a proxy for Claude Code's own requests, and `update`.
    allowed: /^(find\/embed\/install-model|prune\/proxy\/proxy-server|cli\/update\/get-binary)\.ts$/,
    reason:
      "no network unless the user asks: `model install`, `update`, `prune proxy`; a database's client has its own",
  },
  {
    word: /\binstanceof CtxError\b/,
    allowed: /^$/,
    reason: "modules that are built apart have a class of their own, and lose the hint: isCtxError()",
  },
  {
    word: /\bimport\((?!")/,
    // The script of a child, which loads a package that the user named by its absolute folder.
    allowed: /^sync\/targets\/agentdb-target\.ts$/,
    reason:
      "a computed import() is resolved at run time in the folder we are started in; write the path as a literal",
  },
  {
    word: new RegExp(`["'](?:${Object.keys(CLAUDE_CODE_TOOLS).join("|")})["']`),
    // Migrations stay as they were; benches and the demo write what Claude Code would. A title of the help is a verb.
    allowed: /^(claude\/|views\/schema\.ts$|cli\/bench\/|cli\/(commands|commands\/demo)\.ts$|secrets\/)/,
    reason: "agents differ in the names of their tools; ask for the kind (agents/tool-kinds.ts)",
  },
  {
    word: /\b(SELECT|INSERT INTO|INSERT OR|UPDATE \w+ SET|DELETE FROM)\b/,
    // Others' databases, servers, and corpora.
    allowed: /^(views|job\/import|cli\/bench|sync\/targets)\//,
    reason: "the statements that read the views lie together, with typed rows, in views/queries/",
  },
  {
    word: /\b(eval|new Function|require|getBuiltinModule)\(/,
    // What hooks seldom need: loading node:os costs each of them 0.2 ms, node:fs 1.3 (docs/adr/0013).
    allowed:
      /^(agents\/(agent-table|layouts)|config\/load|base\/(errors|fs|libc|path)|secrets\/rules|vault\/(frame|tombstones))\.ts$/,
    reason: "use a static import",
  },
]

interface Import {
  readonly specifier: string
  readonly kind: "static" | "dynamic" | "type"
  /** Path below src/ when it is one of ours. */
  readonly target: string | undefined
}

interface SourceFile {
  readonly path: string
  readonly source: string
  /** Without types and comments. */
  readonly code: string
  readonly imports: readonly Import[]
}

function readSources(): SourceFile[] {
  const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" })
  const paths = [...new Bun.Glob("**/*.ts").scanSync(SRC)].filter((path) => !path.endsWith(".d.ts"))
  return paths.sort().map((path) => {
    const source = readFileSync(join(SRC, path), "utf8")
    const imports: Import[] = []
    const add = (specifier: string, kind: Import["kind"]): void => {
      const written = specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : undefined
      const target = written === undefined ? undefined : (BUILT[written] ?? written)
      const made = target === undefined ? undefined : MADE[target]
      imports.push(
        made === undefined ? { specifier, kind, target } : { specifier: made, kind, target: undefined },
      )
    }
    for (const found of transpiler.scanImports(source)) {
      add(found.path, found.kind === "dynamic-import" ? "dynamic" : "static")
    }
    for (const [, specifier] of source.matchAll(/^(?:import|export)\s+type\s[^"]*?from\s+"([^"]+)"/gm)) {
      add(specifier!, "type")
    }
    return { path, source, code: transpiler.transformSync(source), imports }
  })
}

/** `@scope/name/part.js` → `@scope/name`. */
const packageOf = (specifier: string): string =>
  specifier.startsWith(".") ? specifier : specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")

const files = readSources()
const byPath = new Map(files.map((file) => [file.path, file]))

/** All that is wrong, one sentence each. */
const violations = (check: (file: SourceFile) => Iterable<string>): string[] =>
  files.flatMap((file) => [...check(file)])

/** A folder's own line, or that of the one that it is in. */
function folderWithLayer(path: string): string {
  const [top, below] = path.split("/")
  return LAYERS.flat().includes(`${top}/${below}`) ? `${top}/${below}` : top!
}

const layerOf = (path: string): number => LAYERS.findIndex((layer) => layer.includes(folderWithLayer(path)))

const isPure = ({ path, source }: SourceFile): boolean =>
  PURE.some((pattern) => pattern.test(path)) || /\bPure\b/.test(/^\/\*\*[\s\S]*?\*\//.exec(source)?.[0] ?? "")

/** What a file exports, types included. A function with overloads occurs several times. */
const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) ([\w$]+)/gm

/** Files reached by static imports, itself included. */
function staticClosure(start: string): Set<string> {
  const reached = new Set<string>([start])
  for (const path of reached) {
    for (const { kind, target } of byPath.get(path)?.imports ?? []) {
      if (kind === "static" && target !== undefined && byPath.has(target)) reached.add(target)
    }
  }
  return reached
}

describe("imports", () => {
  test("every import of ours names a file, with its extension", () => {
    const wrong = violations(function* ({ path, imports }) {
      for (const { specifier, target } of imports) {
        if (target === undefined || NO_MODULES.includes(target) || byPath.has(target)) continue
        if (FROM_TABLES.includes(target) && path.startsWith("secrets/")) continue
        yield `${path} imports ${specifier}: there is no such file; write the path with its .ts`
      }
    })
    expect(wrong).toEqual([])
  })

  test("layers: one way only", () => {
    const wrong = violations(function* ({ path, imports }) {
      const own = layerOf(path)
      if (own < 0) yield `${path} has no layer: give its folder a line in LAYERS and in docs/architecture.md`
      for (const { target } of imports) {
        if (target === undefined || !byPath.has(target)) continue
        const sameFolder = folderWithLayer(path) === folderWithLayer(target)
        if (sameFolder || layerOf(target) < own) continue
        yield `${path} imports ${target}, which is not below it: move what both need down, or pass it as an argument`
      }
    })
    expect(wrong).toEqual([])
  })

  test("nothing imports cli/ but cli/ and main.ts, nothing imports main.ts", () => {
    const wrong = violations(function* ({ path, imports }) {
      for (const { target, kind } of imports) {
        if (target === "main.ts") yield `${path} imports main.ts: a chunk that does pulls in both programs`
        if (!target?.startsWith("cli/") || path.startsWith("cli/")) continue
        if (path === "main.ts" && kind === "dynamic") continue
        yield `${path} imports ${target}: below the command line nobody knows it; return data, let the command print`
      }
    })
    expect(wrong).toEqual([])
  })

  test("no cycles", () => {
    const found: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) {
        const circle = [...trail.slice(trail.indexOf(path)), path].join(" → ")
        found.push(`${circle}: which of them runs first depends on who is asked first; move what they share`)
        return
      }
      if (done.has(path)) return
      for (const { kind, target } of byPath.get(path)?.imports ?? []) {
        if (kind !== "dynamic" && target !== undefined && byPath.has(target)) visit(target, [...trail, path])
      }
      done.add(path)
    }
    for (const { path } of files) visit(path, [])
    expect(found).toEqual([])
  })

  test("one door for each dependency", () => {
    const wrong = violations(function* ({ path, imports }) {
      for (const { specifier } of imports) {
        if (specifier in BANNED) yield `${path} imports ${specifier}: ${BANNED[specifier]}`
        const entry = DOORS[packageOf(specifier)]
        if (entry !== undefined && path !== entry.door) {
          yield `${path} imports ${specifier}: only ${entry.door} may; ${entry.reason}`
        }
        if (entry === undefined && !/^(\.|node:)/.test(specifier)) {
          yield `${path} imports ${specifier}: a package needs a door in DOORS and a line in docs/adr/0004`
        }
      }
    })
    expect(wrong).toEqual([])
  })

  test("every door and every package is used", () => {
    const { dependencies } = JSON.parse(readFileSync(join(SRC, "../package.json"), "utf8"))
    for (const [name, { door }] of Object.entries(DOORS)) {
      const imports = byPath.get(door)?.imports ?? []
      expect(imports.some(({ specifier }) => packageOf(specifier) === name)).toBe(true)
    }
    expect(Object.keys(dependencies).sort()).toEqual(
      Object.keys(DOORS)
        .filter((name) => !/^(bun|node):/.test(name))
        .sort(),
    )
  })

  test("dynamic imports only where a part of the program is left out", () => {
    const wrong = violations(function* ({ path, imports }) {
      if (DYNAMIC_DOORS.includes(path)) return
      for (const { kind, specifier } of imports) {
        if (kind === "dynamic")
          yield `${path} imports ${specifier} dynamically: import it statically, or add a door`
      }
    })
    expect(wrong).toEqual([])
  })
})

describe("files", () => {
  test("main.ts is a switch: no static import, no export", () => {
    const main = byPath.get("main.ts")!
    expect(main.imports.filter(({ kind }) => kind !== "dynamic")).toEqual([])
    expect(main.code).not.toMatch(/^export\b/m)
  })

  test("no barrels", () => {
    const wrong = violations(function* ({ path, code }) {
      if (/(^|\/)index\.ts$/.test(path)) yield `${path}: name the file after what is in it`
      if (/^export \*/m.test(code)) yield `${path} has \`export *\`: it hides who needs what; export by name`
      if (/^export \{[^}]*\} from "\./m.test(code)) {
        yield `${path} exports another file's names: import them from where they are`
      }
    })
    expect(wrong).toEqual([])
  })

  test("a name means one thing: files and what they export", () => {
    const twice = (names: readonly (readonly [name: string, path: string])[]): string[] =>
      [...Map.groupBy(names, ([name]) => name)]
        .filter(([, places]) => places.length > 1)
        .map(
          ([name, places]) =>
            `${name}: ${places.map(([, path]) => path).join(", ")}: rename the more special`,
        )
    // A command's file has the command's name, whatever else is called so.
    const named = files.filter(({ path }) => !path.startsWith("cli/commands/"))
    expect(twice(named.map(({ path }) => [basename(path), path]))).toEqual([])
    const exported = files.flatMap(({ path, source }) =>
      [...new Set([...source.matchAll(EXPORTED)].map(([, name]) => name!))].map(
        (name) => [name, path] as const,
      ),
    )
    expect(exported.length).toBeGreaterThan(1000)
    expect(twice(exported)).toEqual([])
  })

  test("no top-level await", async () => {
    // CommonJS has none, so the bundler refuses it.
    const built = await Bun.build({
      entrypoints: files.map(({ path }) => join(SRC, path)),
      format: "cjs",
      target: "bun",
      external: ["*"],
      throw: false,
    })
    const reason = "a binary whose chunks wait for each other can end halfway with exit 0; make it a function"
    expect(built.logs.map((log) => `${log.position?.file}: ${log.message}: ${reason}`)).toEqual([])
  })

  test("pure files take time, names and the world as arguments", () => {
    const wrong = violations(function* (file) {
      if (!isPure(file)) return
      for (const { specifier } of file.imports) {
        if (/^(bun:|node:(?!path$))/.test(specifier)) {
          yield `${file.path} imports ${specifier}: it is pure; take the result as an argument`
        }
      }
      const impure =
        /\bprocess\.\w+|\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bMath\.random\(|\brandomUUID\(|\bgetRandomValues\(/
      for (const pattern of [impure, PURE_BUN]) {
        const found = pattern.exec(file.code)?.[0]
        if (found !== undefined)
          yield `${file.path} uses ${found}: it is pure; take the result as an argument`
      }
    })
    expect(wrong).toEqual([])
  })

  test("every pattern of PURE still names a file", () => {
    for (const pattern of PURE) expect(files.some(({ path }) => pattern.test(path))).toBe(true)
  })

  test("process, output, chance and network only where they belong", () => {
    const wrong = violations(function* ({ path, code }) {
      for (const { word, allowed, reason } of WORDS) {
        const found = word.exec(code)?.[0]
        if (found !== undefined && !allowed.test(path)) yield `${path} uses ${found}: ${reason}`
      }
    })
    expect(wrong).toEqual([])
  })

  test("errors carry a literal name", () => {
    const wrong = violations(function* ({ path, source }) {
      for (const [whole] of source.matchAll(/class \w+ extends \w*Error \{[\s\S]*?\n\}/g)) {
        if (!/override readonly name = "/.test(whole)) {
          yield `${path}: an error class needs \`override readonly name = "…"\`; the minifier renames classes`
        }
      }
    })
    expect(wrong).toEqual([])
  })
})

describe("a search", () => {
  test("loads neither what indexes nor what most searches have no need of", () => {
    const closure = staticClosure("cli/run-search.ts")
    const wanted = ["views/open.ts", "find/search-steps.ts", "claude/claude-code.ts"]
    const unwanted = [
      "views/open-current.ts",
      "views/turn-writer.ts",
      "views/turn.ts",
      "find/embed/semantic-search.ts",
      "find/cold.ts",
      "find/elsewhere.ts",
      "find/search-by-meaning.ts",
      "secrets/filter.ts",
      "vault/capture.ts",
    ]
    expect(wanted.filter((path) => !closure.has(path))).toEqual([])
    expect(unwanted.filter((path) => closure.has(path))).toEqual([])
    for (const path of [...wanted, ...unwanted]) expect(byPath.has(path)).toBe(true)
    const modules = [...closure].flatMap((path) =>
      byPath
        .get(path)!
        .imports.filter(({ specifier, kind }) => kind === "static" && !specifier.startsWith(".")),
    )
    expect([...new Set(modules.map(({ specifier }) => specifier))].sort()).toEqual(["bun:ffi", "bun:sqlite"])
  })
})

describe("the server", () => {
  test("is one chunk, without the SDK's validator of schemas", async () => {
    const { outputs } = await readMeta()
    const [chunk] = Object.values(outputs).filter(({ entryPoint }) => entryPoint === "dist/mcp/run-server.js")
    expect(chunk!.imports.filter(({ kind }) => kind === "import-statement")).toEqual([])
    const { inputs } = await Bun.file(join(SRC, "../dist/mcp/meta.json")).json()
    expect(Object.keys(inputs)).toContain("src/cli/server/server.ts")
    expect(Object.keys(inputs).filter((input) => /ajv/i.test(input))).toEqual([])
  })
})

describe("the hot program", () => {
  test("a hook that replies nothing opens no database and loads no package", () => {
    const packages: string[] = []
    for (const path of staticClosure("hook/run.ts")) {
      for (const { specifier, kind } of byPath.get(path)?.imports ?? []) {
        if (kind === "static" && !/^(\.|bun:ffi$)/.test(specifier)) {
          packages.push(
            `${path} imports ${specifier}: hooks start at every prompt; import it behind hook/reply.ts, or use base/fs.ts and base/path.ts (docs/adr/0013)`,
          )
        }
      }
    }
    expect(packages).toEqual([])
  })

  test("its chunks in the build hold no package and at most 74 kB", async () => {
    const { inputs, bytes } = await hookChunk(await readMeta())
    expect(inputs).toContain("src/hook/run.ts")
    expect(inputs.filter((input) => input.includes("node_modules"))).toEqual([])
    expect(
      inputs.filter((input) => /^src\/(?:cli|secrets\/formats)\/|formats\/rows\.js$/.test(input)),
    ).toEqual([])
    expect(bytes).toBeLessThanOrEqual(73_800)
  })

  test("a hook that restores loads one chunk more, with all that it needs to read what is new", async () => {
    const { outputs } = await readMeta()
    const chunkOf = (file: string) => Object.values(outputs).find(({ entryPoint }) => entryPoint === file)
    const loads = (kind: string, file: string) =>
      chunkOf(file)!
        .imports.filter((one) => one.kind === kind)
        .map(({ path }) => outputs[path]?.entryPoint)
    expect(loads("dynamic-import", "dist/hook/run.js")).toContain("dist/reply/reply.js")
    expect(loads("import-statement", "dist/reply/reply.js")).toEqual([])
    // Rows of the table of agents name their hooks, which a reply does not ask for.
    const later = loads("dynamic-import", "dist/reply/reply.js").filter(
      (file) => !file?.endsWith("-hooks.ts"),
    )
    expect(later).toEqual(["src/hook/recall.ts"])
  })
})
