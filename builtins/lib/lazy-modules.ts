// Modules of Node that most commands of the command line do without: to load them takes a tenth of such a command.

export const crypto = () => process.getBuiltinModule('node:crypto')
export const childProcess = () => process.getBuiltinModule('node:child_process')
