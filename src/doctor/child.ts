/** Short-lived programs that checks ask something. */

/** ms that a program gets to say its version. */
const PATIENCE = 3000

/** What it prints; undefined when it cannot be run, fails, or takes too long. */
export async function output(command: string[]): Promise<string | undefined> {
  try {
    const child = Bun.spawn(command, {
      stdio: ["ignore", "pipe", "ignore"],
      timeout: PATIENCE,
      killSignal: "SIGKILL",
    })
    const text = await new Response(child.stdout).text()
    return (await child.exited) === 0 ? text : undefined
  } catch {
    return undefined
  }
}
