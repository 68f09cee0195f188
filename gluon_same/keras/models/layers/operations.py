def is_operation(a,b,c): return False
def build_operation(): pass
