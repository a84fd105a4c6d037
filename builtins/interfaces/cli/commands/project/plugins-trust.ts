import { resolve } from 'node:path'
import { revokeTrust, trust, trustedProjects } from '#lib/trust'
import type { HandWritten } from '../../context.ts'
import { findProject } from '../../project/project.ts'
import { printable } from '../../screen/printable.ts'

/** Trusts the plugins of a project, revokes that, or lists the trusted projects. */
const pluginsTrust: HandWritten = async ({ list, revoke }, { ports, terminal, named, json }) => {
  const print = (sentence: string, facts: object) =>
    terminal.out(json ? JSON.stringify(facts, null, 2) : printable(sentence))
  if (list === true) {
    const projects = await trustedProjects(ports)
    print(projects.map(({ root, since }) => `${since}  ${root}`).join('\n') || 'No project is trusted.', projects)
    return 0
  }
  // Trust in a deleted project can be revoked too.
  const root = revoke === true && named ? resolve(named) : await findProject(ports, named)
  if (revoke === true) {
    const revoked = await revokeTrust(root, ports)
    print(revoked ? `${root} is no longer trusted.` : `${root} was not trusted.`, { root, trusted: false, revoked })
    return 0
  }
  await trust(root, ports)
  print(`${root} is trusted: its plugins run from now on.`, { root, trusted: true })
  return 0
}
export default pluginsTrust
