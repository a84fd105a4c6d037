/**
 * Returns a module of the running program by its name in imports, such as `#kernel`; undefined for one that it was built
 * without. The build puts a table of all of them in the place of this file (`build/running-modules.js`).
 */
export async function runningModule(name: string): Promise<object | undefined> {
  return import(name)
}
