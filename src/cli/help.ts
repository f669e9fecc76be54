/** A command's help. The only importer of citty, which lays it out. */
import { type ArgsDef, renderUsage } from "citty"
import { version } from "../../package.json"
import type { Command } from "./command.ts"

export function renderHelp({ meta, args = {} }: Command): Promise<string> {
  const specs = Object.entries(args).map(([name, { rest: _rest, ...spec }]) => [
    name,
    { required: false, ...spec },
  ])
  return renderUsage(
    {
      meta: { name: meta.name, description: meta.description },
      args: Object.fromEntries(specs) as ArgsDef,
    },
    { meta: { name: "ctxbridge", version } },
  )
}
