"""PostgreSQL's protocol 3, as a proxy sees it (the chapter *Frontend/Backend Protocol* of the manual): what its carrier
must know while bytes pass, and what its decoder makes of them later. Does not know sockets, nor files."""
