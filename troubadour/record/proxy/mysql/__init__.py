"""The protocol of MySQL and MariaDB, as a proxy sees it (the chapters on the client/server protocol of their manuals).
Does not know sockets, nor files."""
