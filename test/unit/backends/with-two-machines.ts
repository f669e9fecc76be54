/** Runs the tests of a contract: each with two machines at one target that is empty. */
import { test } from "bun:test"

interface Closable {
  close(): Promise<void>
}

export interface SharedTarget<Opened> extends AsyncDisposable {
  /** Opens the same, empty target as often as wanted, each time as another machine. */
  open(machine: string): Promise<Opened>
}

/** @param isThere false: the tests are skipped, and say so */
export const withTwoMachines =
  <Opened extends Closable>(
    name: string,
    makeTarget: () => Promise<SharedTarget<Opened>>,
    isThere: boolean,
  ) =>
  (title: string, body: (one: Opened, other: Opened) => Promise<void>): void => {
    test.skipIf(!isThere)(`${name}: ${title}`, async () => {
      await using target = await makeTarget()
      const one = await target.open("one")
      const other = await target.open("other")
      try {
        await body(one, other)
      } finally {
        await one.close()
        await other.close()
      }
    })
  }
