/**
 * Returns a module of the running program by its import name, such as `#kernel`; undefined if the build left it out.
 * The build replaces this file with a table of all modules (`build/running-modules.js`).
 */
export async function runningModule(name: string): Promise<object | undefined> {
  return import(name)
}
