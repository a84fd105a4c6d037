import { resolve } from 'node:path'
import { revokeTrust, trust, trustedProjects } from '#lib/trust'
import type { HandWritten } from '../../context.ts'
import { findProject } from '../../project/project.ts'
import { print, printable } from '../../screen/printable.ts'

/** Trusts the plugins of a project, revokes that, or lists the trusted projects. */
const pluginsTrust: HandWritten = async ({ list, revoke }, context) => {
  const { ports, named } = context
  if (list === true) {
    const projects = await trustedProjects(ports)
    const lines = projects.map(({ root, since }) => `${since}  ${root}`)
    return print(context, projects, printable(lines.join('\n')) || 'No project is trusted.')
  }
  // Trust in a deleted project can be revoked too.
  const root = revoke === true && named ? resolve(named) : await findProject(ports, named)
  if (revoke === true) {
    const revoked = await revokeTrust(root, ports)
    const text = revoked ? `${root} is no longer trusted.` : `${root} was not trusted.`
    return print(context, { root, trusted: false, revoked }, printable(text))
  }
  await trust(root, ports)
  return print(context, { root, trusted: true }, printable(`${root} is trusted: its plugins run from now on.`))
}
export default pluginsTrust
