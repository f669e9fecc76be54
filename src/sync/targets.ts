/** Opens targets for commands and the server: the one that is named, or those that the user's variables name. */
import { backendNamed, type Target } from "../backends/open-target.ts"
import { serverVariables, targetWishes } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { type BackendName, type ChosenTarget, chooseTargets } from "./choose-target.ts"
import { writerName } from "./writer-name.ts"

interface Here {
  readonly cwd: string
  readonly dataHome: string
}

export const targetNamed = (named: string, { cwd, dataHome }: Here): Target =>
  backendNamed(named, {
    cwd,
    dataHome,
    variables: serverVariables(),
    writer: () => writerName(dataHome),
  })

/** The best first; none if nothing is configured. */
export const configuredTargets = (config: Config, here: Here): (Target & Pick<ChosenTarget, "why">)[] =>
  chooseTargets(config["sync.backend"] as BackendName, targetWishes()).map(({ named, why }) => ({
    ...targetNamed(named, here),
    why,
  }))
