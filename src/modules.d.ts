/** What build/hook.ts makes, and TypeScript may not see: types hold also before the first build. */

declare module "*/dist/hook/run.js" {
  export const runHook: typeof import("./hook/run.ts").runHook
}
