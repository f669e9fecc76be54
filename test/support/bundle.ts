/** A program with the shape of Claude Code's bundles, and nothing else of theirs. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const LINES = [
  "#!/usr/bin/env node",
  '// "é" 🗜',
  'var S={sessionId:"11111111-2222-4333-8444-555555555555"},log=[];',
  "function sid(){return S.sessionId}",
  "async function micro(a){return{messages:a}}",
  "async function compact(a,b){return{}}",
  "async function*api(a){yield{sent:a.messages}}",
  'async function*loop({messages:a,toolUseContext:t}){if(yield{type:"stream_request_start"},t.abortController);',
  "let m=[...a],r=await micro(m,t);if(m=r.messages,r.note)yield r.note;",
  'let{compactionResult:c}=await compact(m,t);if(c)log.push("tengu_auto_compact_succeeded"),m=c;',
  "t={...t,messages:m};for await(let x of api({messages:m}))yield x}",
  "async function sum({messages:a,request:q}){for await(let x of api({messages:[...a.slice(0),q],",
  'system:["You are a helpful AI assistant tasked with summarizing conversations."]}))return x}',
  'if(process.argv[2]==="--version")console.log("9.9.9 (Claude Code)");',
]

/** @param changes what stands there instead */
export function bundle(...changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`the bundle has no ${from}`)
      return text.replaceAll(from, () => to)
    },
    `${LINES.join("\n")}\n`,
  )
}

/** A package of it, installed by npm; returns its cli.js. */
export function installedBundle(root: string, text = bundle(), name = "claude-code"): string {
  const folder = join(root, "node_modules", "@anthropic-ai", name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: `@anthropic-ai/${name}`, version: "9.9.9", type: "module" }),
  )
  writeFileSync(join(folder, "cli.js"), text, { mode: 0o755 })
  return join(folder, "cli.js")
}
