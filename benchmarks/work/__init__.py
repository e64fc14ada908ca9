"""What a library is asked to do in its own process, by subject: whole cubes, lines, single calls, many nodes …"""
