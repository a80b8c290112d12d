"""The application's state on its way: to a joiner at the cut of its view, and from all sides of a merge to one."""
