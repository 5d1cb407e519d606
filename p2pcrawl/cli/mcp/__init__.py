"""The MCP server: tools by which a language model looks at a cluster, and steers it where it may."""
