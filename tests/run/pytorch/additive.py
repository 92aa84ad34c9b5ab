import torch
from torch import nn

torch.manual_seed(7)
queries = torch.randn(2, 1, 20)
keys = torch.ones(2, 10, 2)
values = torch.arange(40, dtype=torch.float32).reshape(1, 10, 4).repeat(2, 1, 1)
valid_lens = torch.tensor([2, 6])


class AdditiveAttention(nn.Module):
    def __init__(self, query_width, key_width, hidden):
        super().__init__()
        self.W_k = nn.Linear(key_width, hidden, bias=False)
        self.W_q = nn.Linear(query_width, hidden, bias=False)
        self.w_v = nn.Linear(hidden, 1, bias=False)

    def forward(self, queries, keys, values, valid_lens):
        features = torch.tanh(self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1))
        scores = self.w_v(features).squeeze(-1)
        valid = torch.arange(keys.size(1)) < valid_lens[:, None, None]
        weights = torch.softmax(scores.masked_fill(~valid, -1e6), dim=-1)
        return weights @ values, weights


output, weights = AdditiveAttention(20, 2, 8)(queries, keys, values, valid_lens)
print(weights[:, 0])
print(output[:, 0])
