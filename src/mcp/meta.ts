/** The reserved `_meta` keys that the gateway knows (basic §_meta); every other key passes untouched. */
export const meta = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  relatedTask: 'io.modelcontextprotocol/related-task',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The extensions that the gateway knows: one passes through in both directions, one it serves itself (M-VER-04). */
export const extensions = {
  ui: 'io.modelcontextprotocol/ui',
  tasks: 'io.modelcontextprotocol/tasks',
} as const
