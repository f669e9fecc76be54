/** `ctxbridge proxy -- claude …`: runs Claude Code behind a proxy that prunes, and ends with it. */
import { constants } from "node:os"
import { CtxError, EXIT } from "../../base/errors.ts"
import { childEnvironment } from "../../config/load.ts"
import { words } from "../args.ts"
import { type Command, type Context, option } from "../command.ts"
import { writeError } from "../output.ts"
import { proxyFor, saidOf } from "../run-proxy.ts"

export default {
  meta: { name: "proxy", description: "Run Claude Code behind a proxy that prunes old text" },
  args: {
    command: {
      type: "positional",
      rest: true,
      description: "The command and its arguments, after -- (default: claude)",
      valueHint: "COMMAND",
    },
    port: option("The port to listen on (default: any free one)", "N"),
  },
  async run(context) {
    const [program = "claude", ...rest] = words(context.args)
    const path = Bun.which(program)
    if (path === null)
      throw new CtxError("no-program", `${program} is not on PATH`, {
        hint: "ctxbridge proxy -- /path/to/claude",
        exit: EXIT.notFound,
      })
    const proxy = proxyFor(context)
    const code = await behind(proxy.url, [path, ...rest])
    await proxy.stop()
    report(context, proxy.counts)
    return code
  },
} satisfies Command

/** @returns its exit code, as a shell would give it */
async function behind(url: string, command: readonly string[]): Promise<number> {
  let child: Bun.Subprocess | undefined
  // In a terminal, the child gets this one from the keyboard, and decides what it means.
  process.on("SIGINT", () => {})
  for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT"] as const)
    process.on(signal, () => child?.kill(signal))
  child = Bun.spawn([...command], {
    env: { ...childEnvironment(), ANTHROPIC_BASE_URL: url },
    stdio: ["inherit", "inherit", "inherit"],
  })
  await child.exited
  const { exitCode, signalCode } = child
  return exitCode ?? 128 + (constants.signals[signalCode as keyof typeof constants.signals] ?? 0)
}

/** On stderr: stdout is the child's. */
function report({ out }: Context, counts: Parameters<typeof saidOf>[0]): void {
  if (counts.pruned > 0 && !out.wantsJson) writeError(`ctxbridge: ${saidOf(counts)}\n`)
}
