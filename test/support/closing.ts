/** For `await using`: what has only a `close`. */
export async function closing<T extends { close(): Promise<void> }>(
  opening: Promise<T>,
): Promise<T & AsyncDisposable> {
  const opened = await opening
  return Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() })
}
